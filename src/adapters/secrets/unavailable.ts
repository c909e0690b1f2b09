/** Why one attempt at a secret failed. */

/**
 * Why one attempt at a server failed: words that end a sentence, without anything that was sent.
 */
export class SourceFault extends Error {
  override readonly name = "SourceFault";
  /** True when the same question may be answered a moment later. */
  readonly passing: boolean;

  constructor(why: string, passing = false) {
    super(why);
    this.passing = passing;
  }
}
