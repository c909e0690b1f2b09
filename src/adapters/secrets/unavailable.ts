/** How a secret that cannot be had is told. */

/** A secret that cannot be had; the message is a sentence that names the source, never a value. */
export class SecretUnavailable extends Error {
  override readonly name = "SecretUnavailable";
}

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
