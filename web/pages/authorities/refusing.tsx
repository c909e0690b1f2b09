/** Why something that is open by its address may not be sent by this caller. */

/** Above the fields, which can still be read. */
export const Refusing = ({ reason }: { readonly reason: string }) => (
  <p class="notice warn" role="status">
    <span>
      <span aria-hidden="true">◐ </span>
      {reason}
    </span>
  </p>
);
