/** The few signs that no font has for sure, drawn by hand. */

/** Two sheets: what is beside it can be copied. */
export const CopySign = () => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d="M6 2.5h7.5V10M2.5 6H10v7.5H2.5z" fill="none" stroke="currentColor" />
  </svg>
);
