/** What a profile's URIs begin with. */

import { hasDotSegments, parseUri } from "#core/x509/uris.ts";

/**
 * True when scheme and authority are those of the prefix, part by part, and what follows begins as
 * it does; a prefix of a scheme alone covers all of the scheme. A path that leads out again does
 * not begin so.
 */
export function uriBegins(uri: string, prefix: string): boolean {
  const name = parseUri(uri);
  if (name === undefined || hasDotSegments(name)) return false;
  if (isUriScheme(prefix)) return `${name.scheme}:` === prefix.toLowerCase();
  const base = parseUri(prefix);
  if (base === undefined || base.scheme !== name.scheme) return false;
  const [a, b] = [name.authority, base.authority];
  const sameAuthority = a?.host === b?.host && a?.port === b?.port && a?.userinfo === b?.userinfo;
  return sameAuthority && name.rest.startsWith(base.rest);
}

/** True for a scheme with its colon, and nothing more. */
export const isUriScheme = (text: string): boolean => /^[A-Za-z][A-Za-z0-9+.-]*:$/.test(text);
