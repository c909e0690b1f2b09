/** How the bench prints: one aligned row per figure. */

/** A heading. */
export const bold = (text: string): void => console.log(`\n${text}`);

/** One figure. */
export const row = (name: string, figure: string): void =>
  console.log(`  ${name.padEnd(52)} ${figure}`);

/** `0.43` of the floor, or the empty text when there is no floor. */
export const ratio = (figure: number, floor: number): string => (figure / floor).toFixed(2);
