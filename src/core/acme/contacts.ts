/** Where the holder of an account says it can be reached (RFC 8555 §7.3, RFC 6068). */

import { refuse } from "#core/problems.ts";
import { isHost } from "#core/x509/subtree-forms.ts";

/**
 * Reads the member `contact`, none when it is absent: at most 10 URLs of the form `mailto:` with
 * one plain address, given back as they are. Refuses `acme_malformed` for what is no list of texts,
 * `acme_unsupported_contact` for another scheme, `acme_invalid_contact` for header fields, several
 * addresses, escapes, and what is no address.
 */
export function readContacts(value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (!isListOfTexts(value)) {
    throw refuse("acme_malformed", { reason: "contact is not a list of texts" });
  }
  if (value.length > contactsMax) throw invalid(`there are more than ${contactsMax}`);
  for (const contact of value) {
    if (!/^mailto:/i.test(contact)) {
      throw refuse("acme_unsupported_contact", { reason: "only mailto is" });
    }
    const address = contact.slice("mailto:".length);
    if (address.includes("?")) throw invalid("it has header fields");
    if (address.includes(",")) throw invalid("it has several addresses");
    if (!isPlainAddress(address)) throw invalid("it is no plain mail address");
  }
  return value;
}

/** RFC 5321 §4.1.2: a local part without quotes, and a host; nothing a URL would have to escape. */
function isPlainAddress(address: string): boolean {
  const at = address.lastIndexOf("@");
  if (at < 0 || address.length > addressMax) return false;
  return localPart.test(address.slice(0, at)) && isHost(address.slice(at + 1));
}

const invalid = (reason: string) => refuse("acme_invalid_contact", { reason });

const isListOfTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

const contactsMax = 10;
/** RFC 5321 §4.5.3.1.3. */
const addressMax = 254;
const localPart = /^(?=.{1,64}$)[A-Za-z0-9!$&'*+=^_`{|}~-]+(?:\.[A-Za-z0-9!$&'*+=^_`{|}~-]+)*$/;
