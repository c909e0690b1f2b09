/** Names for a certificate as people type them: of which kind each is, and what is wrong. */

import { canonicalDnsName, endsInNumber, ipText, parseIpAddress } from "#core/x509/addresses.ts";

export type NameKind = "dns" | "ip" | "email" | "uri";

/** A name as it goes into a request. */
export interface RequestedName {
  readonly kind: NameKind;
  readonly value: string;
}

export type ReadName =
  | { readonly ok: true; readonly name: RequestedName; readonly hint: string }
  | { readonly ok: false; readonly fault: string };

/** Reads one name; what is said of it is a help, what a certificate may say the gates decide. */
export function readName(typed: string): ReadName {
  const text = typed.trim();
  if (text === "") return { ok: false, fault: "" };
  if (text.includes("://")) return readUri(text);
  if (text.includes("@")) return readEmail(text);
  const address = parseIpAddress(text.replace(/^\[(.*)\]$/, "$1"));
  if (address !== undefined) return read("ip", ipText(address), text);
  return readDns(text);
}

/** The texts in what was pasted: names hold no blanks, commas or semicolons. */
export const namesIn = (pasted: string): readonly string[] =>
  pasted.split(/[\s,;]+/).filter((text) => text !== "");

/** What a common name stands for when none is typed: the first name that fits into one. */
export const commonNameFor = (typed: string, names: readonly RequestedName[]): string =>
  typed.trim() ||
  (names.find(({ kind, value }) => kind !== "uri" && value.length <= commonNameMax)?.value ?? "");

export const kindWords = { dns: "DNS", ip: "IP", email: "email", uri: "URI" } as const;

function readDns(text: string): ReadName {
  if (text.includes(":")) return fault("This is no address, and a DNS name has no colon.");
  if (text.includes("/")) return fault("A name has no slash; leave the path away.");
  const name = canonicalDnsName(text.replace(/\.$/, ""));
  if (name === undefined) return fault("This has a character that no DNS name has.");
  if (endsInNumber(name)) return fault("This ends in a number, as an address does, and is none.");
  if (name.length > 253)
    return fault(`A DNS name has 253 characters at most, this ${name.length}.`);
  const labels = name.split(".");
  const [first = ""] = labels;
  for (const [at, label] of labels.entries()) {
    const said = label === "*" && at === 0 ? "" : labelFault(label);
    if (said !== "") return fault(said);
  }
  if (name === "*") return fault("A star needs a name behind it: *.example.com.");
  const star = first === "*" ? ", for every name one label below" : "";
  return read("dns", name, text, star);
}

function labelFault(label: string): string {
  if (label === "") return "There is an empty label: two dots in a row, or one in front.";
  if (label.includes("*")) return "A star stands alone, as the first label.";
  if (label.length > 63) return "A label between dots has 63 characters at most.";
  if (/^-|-$/.test(label)) return `The label ${shortened(label)} begins or ends with a hyphen.`;
  if (/^[a-z0-9_-]+$/.test(label)) return "";
  return `The label ${shortened(label)} has more than letters, digits, hyphens, underscores.`;
}

function readEmail(text: string): ReadName {
  const at = text.lastIndexOf("@");
  const [local, host] = [text.slice(0, at), text.slice(at + 1)];
  if (!/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/.test(local)) {
    return fault("What stands before the @ is no mailbox in ASCII.");
  }
  const domain = readDns(host);
  if (!domain.ok) return domain.fault === "" ? fault("There is no host behind the @.") : domain;
  if (domain.name.value.startsWith("*")) return fault("A mailbox has no star.");
  return read("email", `${local}@${domain.name.value}`, text);
}

function readUri(text: string): ReadName {
  if (!/^[\x21-\x7e]+$/.test(text)) return fault("A URI is visible ASCII; escape the rest with %.");
  if (!URL.canParse(text)) return fault("This is no URI.");
  return read("uri", text, text);
}

function read(kind: NameKind, value: string, typed: string, more = ""): ReadName {
  const spelled = value === typed ? "" : `, written ${value}`;
  const article = kind === "ip" ? "An IP address" : kind === "email" ? "A mailbox" : "";
  const what = article || (kind === "dns" ? "A DNS name" : "A URI");
  return { ok: true, name: { kind, value }, hint: `${what}${spelled}${more}.` };
}

/** What is typed is shown again, and not the whole of a long text. */
export const shortened = (text: string): string =>
  text.length > 60 ? `${text.slice(0, 60)}…` : text;

const fault = (said: string): ReadName => ({ ok: false, fault: said });

/** RFC 5280 appendix A.1: ub-common-name. */
export const commonNameMax = 64;
