/** Kinds of text with a form of their own: lines, names, addresses, URLs, spans of time. */

import { isOid } from "#core/asn1/oid-octets.ts";
import { type Kind, text, type TextRule, WrongValue } from "#core/shape.ts";
import { parseIpAddress } from "#core/x509/addresses.ts";
import { parseCidr } from "#core/x509/name-constraints.ts";

/** What one line must be, besides a line. */
export interface LineRule extends Pick<TextRule, "pattern" | "max" | "wants"> {
  /** Gives the phrase of what is wrong with a line that matches. */
  readonly wrong?: (value: string) => string | undefined;
}

/** One line of text, not empty, that people call `name`; `sample` is one. */
export function textual(name: string, sample: string, rule: LineRule = {}): Kind<string> {
  const { pattern, max = 4096, wants = `must be ${name}`, wrong } = rule;
  const line = { ...text({ min: 1, max, pattern, wants, characters: "line" }), name, sample };
  if (wrong === undefined) return line;
  const read = (raw: unknown) => {
    const value = line.read(raw);
    const phrase = wrong(value);
    if (phrase !== undefined) throw new WrongValue(phrase);
    return value;
  };
  return { ...line, read };
}

/** The same, checked by a rule that gives the phrase of what is wrong. */
export const checkedText = (
  name: string,
  sample: string,
  wrong: (value: string) => string | undefined,
): Kind<string> => textual(name, sample, { wrong });

/** Text that may have several lines, as PEM does. */
export const lines: Kind<string> = {
  ...textual("string", "text"),
  read: (raw) => {
    if (typeof raw !== "string") return oneLine.read(raw);
    const value = raw.trimEnd();
    oneLine.read(value.replace(/\r?\n/g, " "));
    return value;
  },
};

/**
 * An absolute http or https URL without fragment; a base also has no query and no user info, and
 * loses its final slashes.
 */
export function absoluteUrl(use: "base" | "any"): Kind<string> {
  return {
    ...urlText,
    schema: { type: "string", format: "uri" },
    read: (raw) => {
      const value = urlText.read(raw);
      const url = URL.canParse(value) ? new URL(value) : undefined;
      if (!url || !/^https?:\/\//i.test(value)) {
        throw new WrongValue("must be an absolute http or https URL");
      }
      if (value.includes("#")) throw new WrongValue("must be a URL without fragment");
      if (use === "any") return value;
      if (value.includes("?")) throw new WrongValue("must be a URL without query");
      if (url.username || url.password) throw new WrongValue("must be a URL without user info");
      return value.replace(/(?<!\/)\/+$/, "");
    },
  };
}

/** A span of time as `<n>s|m|h|d`; the value is in whole seconds. */
export const span: Kind<number> = {
  name: "duration",
  sample: "90d",
  schema: { type: "string", pattern: "^[1-9][0-9]{0,8}[smhd]$" },
  read: (raw) => {
    const parts = typeof raw === "string" ? /^([1-9]\d{0,8})([smhd])$/.exec(raw) : null;
    if (!parts) throw new WrongValue("must be a duration like 30s, 15m, 12h or 90d");
    return Number(parts[1]) * (secondsPer[parts[2] ?? ""] ?? 0);
  },
  write: (seconds) => {
    const unit = ["d", "h", "m"].find((name) => seconds % (secondsPer[name] ?? 1) === 0) ?? "s";
    return `${seconds / (secondsPer[unit] ?? 1)}${unit}`;
  },
};

/** A host name or address with a port. */
export const hostAndPort = checkedText("host:port", "0.0.0.0:8080", (value) => {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):(\d{1,5})$/.exec(value);
  if (!parts || Number(parts[2]) > 65535) return "must be a host and a port, like 0.0.0.0:8080";
  return undefined;
});

/** A server to be asked: an address or the name of a host, with a port. */
export const serverAndPort = checkedText("host:port", "192.0.2.53:53", (value) => {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(value);
  const [, bracketed, plain = "", digits] = parts ?? [];
  const octets = parseIpAddress(bracketed ?? plain)?.length;
  const isHost = bracketed === undefined ? octets === 4 || isDnsName(plain) : octets === 16;
  const port = Number(digits);
  if (!isHost || port < 1 || port > 65535) {
    return "must be a host and a port, like 192.0.2.53:53, [2001:db8::53]:53 or dns.example:53";
  }
  return undefined;
});

/** An address, IPv4 or IPv6. */
export const address = checkedText("IP address", "192.0.2.1", (value) =>
  parseIpAddress(value) === undefined ? "must be an IPv4 or IPv6 address" : undefined,
);

/** An address block in CIDR form. */
export const block = checkedText("CIDR", "10.0.0.0/8", (value) =>
  parseCidr(value) === undefined ? "must be an address block like 10.0.0.0/8" : undefined,
);

/** Of `dnsName`. */
const dnsNamePattern =
  /^(?=.{1,253}$)(?!(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*$/;
const isDnsName = (text: string): boolean => dnsNamePattern.test(text);

/** A host name: labels of letters, digits and inner hyphens, the last of them no number. */
export const dnsName = textual("DNS name", "pki.example.internal", { pattern: dnsNamePattern });

/**
 * The name of a profile or label: 1..64 letters, digits, dots, underscores and hyphens (CFG-10).
 */
export const label = textual("name", "server", {
  pattern: /^[A-Za-z0-9._-]{1,64}$/,
  wants: "must be 1 to 64 of the characters A-Z, a-z, 0-9, dot, underscore and hyphen",
});

/** A dotted object identifier: first arc 0..2, second below 40 under 0 and 1 (X.660). */
export const objectId = textual("OID", "1.3.6.1.4.1.55555.1", {
  pattern: /^([01]\.[0-3]?\d|2\.(0|[1-9]\d{0,38}))(\.(0|[1-9]\d{0,38})){0,30}$/,
  wants: "must be a dotted object identifier",
  // The pattern is for editors; it lets a second arc like 05 pass.
  wrong: (value) => (isOid(value) ? undefined : "must be a dotted object identifier"),
});

const oneLine = textual("string", "text");
const urlText = textual("URL", "https://pki.example.internal", { max: 2048 });
const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
