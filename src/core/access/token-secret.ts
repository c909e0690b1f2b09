/** How the secret of an API token looks, so that it is known wherever it turns up. */

/** The prefix that routes a bearer credential to token verification. */
export const apiTokenPrefix = "pki_pat_";

/**
 * The text without what looks like such a secret: people paste one where its id belongs, into a
 * path that is written down.
 */
export const withoutApiTokens = (text: string): string =>
  text.includes(apiTokenPrefix)
    ? text.replaceAll(/pki_pat_[A-Za-z0-9_-]+/g, `${apiTokenPrefix}*`)
    : text;
