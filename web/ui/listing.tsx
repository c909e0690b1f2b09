/** Lines as they are written, in a window that keyboards can scroll. */

interface ListingProps {
  readonly text: string;
}

/** A region with a name: whoever cannot use a mouse must be able to reach what is cut off. */
export const Listing = ({ text }: ListingProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1 wants what scrolls to be reached.
  <section class="listing" aria-label="Listing" tabIndex={0}>
    <pre>{text}</pre>
  </section>
);
