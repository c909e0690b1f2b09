/**
 * What an identity provider says when it refuses (RFC 6749 §4.1.2.1, §5.2): for logs and events,
 * never for pages.
 */

/**
 * A code and, often, a sentence; both fit on one line and hold nothing that could draw on a
 * terminal.
 */
export interface ProviderError {
  readonly error: string;
  readonly description: string | undefined;
}

/**
 * Reads the two; anybody can write an address with them, so both are cut and cleaned. Undefined
 * without an error.
 */
export function providerError(error: unknown, description: unknown): ProviderError | undefined {
  if (typeof error !== "string" || error === "") return undefined;
  const sentence = typeof description === "string" ? cleaned(description, descriptionMax) : "";
  return { error: cleaned(error, errorMax), description: sentence === "" ? undefined : sentence };
}

/** As a log line says it: `invalid_scope (Invalid scopes: openid groups)`. */
export const providerErrorText = ({ error, description }: ProviderError): string =>
  description === undefined ? error : `${error} (${description})`;

const cleaned = (text: string, max: number): string =>
  text
    .slice(0, max)
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim();

const errorMax = 64;
const descriptionMax = 200;
