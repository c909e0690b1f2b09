/**
 * What may be the name of somebody: text that people can read, tell apart, and that means nothing
 * inside pkid.
 */

/**
 * True for text whose every character shows: no control, format (bidi, zero width) or invisible
 * character, no blank but the plain one, and that not at an end. Two subjects that look alike in a
 * list of approvals must not be two people.
 */
export const isVisible = (text: string): boolean =>
  text.length > 0 && text.isWellFormed() && !unseen.test(text);

/**
 * True for what a provider, directory, certificate binding or the configuration may call somebody:
 * 1 to 255 characters.
 */
export const isSubject = (text: string): boolean =>
  text.length <= 255 && isVisible(text) && !reservedSubject(text);

/**
 * True for subjects that mean something inside pkid; whoever vouches for outsiders may not hand
 * them out, or a directory entry could act as root or as somebody's token.
 */
export const reservedSubject = (subject: string): boolean =>
  /^(root|anonymous|local|(token|local|system|acme|est|scep|cmp):.*)$/is.test(subject);

/**
 * U+2800 is a symbol of six dots that are not there; `Default_Ignorable_Code_Point` holds the
 * Hangul fillers, joiners and variation selectors that no font shows.
 */
const unseen =
  /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}|^ | $/u;
