/** How the secret of an API token looks, so that it is known wherever it turns up. */

/** The prefix that routes a bearer credential to token verification. */
export const tokenPrefix = "pki_pat_";

/**
 * The text without what looks like such a secret: people paste one where its id belongs, into a
 * path that is written down.
 */
export const withoutTokens = (text: string): string =>
  text.includes(tokenPrefix) ? text.replaceAll(/pki_pat_[A-Za-z0-9_-]+/g, `${tokenPrefix}*`) : text;
