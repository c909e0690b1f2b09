/**
 * Kinds of values a key can have: how each is read strictly, written back, and described (CFG-5).
 */

import { resolve } from "node:path";

import { isIP } from "node:net";

import { WrongValue } from "#core/shape.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Where a value stands, and where its faults are collected, so that one run reports all of them
 * (CFG-4).
 */
export interface Place {
  readonly path: string;
  readonly faults: Fault[];
}
/** One thing wrong with the configuration: the path of the key and a sentence. */
export interface Fault {
  readonly path: string;
  readonly sentence: string;
}

/** Reads, writes and describes one kind of value. */
export interface Kind<T> {
  /** As the reference page prints it. */
  readonly type: string;
  readonly schema: JsonSchema;
  /** A value the example file may carry. */
  readonly sample: unknown;
  /**
   * The raw value of an environment variable's text (ENV-2); text it cannot read is handed on for
   * `read` to refuse.
   */
  fromText(text: string): unknown;
  /** Gives the value; throws the sentence of what is wrong as `WrongValue`. */
  read(raw: unknown, at: Place): T;
  /** The raw value that `read` reads back, secrets hidden. */
  write(value: T): unknown;
}

/** `true` or `false`; no other spelling. */
export const truth: Kind<boolean> = {
  type: "bool",
  schema: { type: "boolean" },
  sample: true,
  fromText: (given) => (given === "true" ? true : given === "false" ? false : given),
  read: (raw) => {
    if (typeof raw !== "boolean") throw new WrongValue("Must be true or false.");
    return raw;
  },
  write: same,
};

/** A whole number within bounds, both included. */
export function whole(min: number, max: number): Kind<number> {
  return {
    type: max === Number.MAX_SAFE_INTEGER ? `int ≥ ${min}` : `int ${min}..${max}`,
    schema: { type: "integer", minimum: min, maximum: max },
    sample: Math.max(min, 1),
    fromText: (given) => (/^-?\d{1,15}$/.test(given) ? Number(given) : given),
    read: (raw) => {
      if (typeof raw !== "number" || !Number.isSafeInteger(raw)) {
        throw new WrongValue("Must be a whole number.");
      }
      if (raw < min) throw new WrongValue(`Must be at least ${min}.`);
      if (raw > max) throw new WrongValue(`Must be at most ${max}.`);
      return raw;
    },
    write: same,
  };
}

/** A number that may have a fraction, from 0 on. */
export const amount: Kind<number> = {
  type: "number ≥ 0",
  schema: { type: "number", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  sample: 1,
  fromText: (given) => (/^\d{1,12}(\.\d{1,6})?$/.test(given) ? Number(given) : given),
  read: (raw) => {
    if (typeof raw !== "number" || !Number.isFinite(raw)) throw new WrongValue("Must be a number.");
    if (raw < 0) throw new WrongValue("Must be at least 0.");
    if (raw > Number.MAX_SAFE_INTEGER) throw new WrongValue("Must not be that large.");
    return raw;
  },
  write: same,
};

/** One of the words given. */
export function oneWord<const W extends string>(words: readonly W[]): Kind<W> {
  return {
    type: words.join(" | "),
    schema: { type: "string", enum: words },
    sample: words[0],
    fromText: same,
    read: (raw) => {
      const word = words.find((candidate) => candidate === raw);
      if (word === undefined) throw new WrongValue(`Must be one of ${words.join(", ")}.`);
      return word;
    },
    write: same,
  };
}

/** A path, made absolute: the signer runs in a directory of its own and must mean the same file. */
export const absolutePath: Kind<string> = {
  ...textual("path", "/etc/pkid/file"),
  read: (raw) => resolve(characters(raw, 4096)),
};

/** Text of 1..`max` characters that matches `pattern`, when given. */
export function textual(
  type: string,
  sample: string,
  rule: { pattern?: RegExp; max?: number; wants?: string } = {},
): Kind<string> {
  const { pattern, max = 4096, wants = `Must be ${type}.` } = rule;
  return {
    type,
    schema: {
      type: "string",
      minLength: 1,
      maxLength: max,
      ...(pattern ? { pattern: pattern.source } : {}),
    },
    sample,
    fromText: same,
    read: (raw) => {
      const value = characters(raw, max);
      if (pattern && !pattern.test(value)) throw new WrongValue(wants);
      return value;
    },
    write: same,
  };
}

/** Text that may have several lines, as PEM does. */
export const lines: Kind<string> = {
  ...textual("string", "text"),
  read: (raw) => {
    const value = typeof raw === "string" ? raw.trimEnd() : raw;
    characters(typeof value === "string" ? value.replace(/\r?\n/g, " ") : value, 4096);
    return String(value); // Found to be text just now.
  },
};

/** Text kept as it is, checked by a rule that gives the sentence of what is wrong. */
export function checkedText(
  type: string,
  sample: string,
  wrong: (value: string) => string | undefined,
): Kind<string> {
  return {
    ...textual(type, sample),
    read: (raw) => {
      const value = characters(raw, 4096);
      const sentence = wrong(value);
      if (sentence !== undefined) throw new WrongValue(sentence);
      return value;
    },
  };
}

/**
 * An absolute http or https URL without fragment; a base also has no query and no user info (V-3)
 * and loses its final slash.
 */
export function absoluteUrl(use: "base" | "any"): Kind<string> {
  return {
    ...textual("URL", "https://pki.example.internal"),
    schema: { type: "string", format: "uri" },
    read: (raw) => {
      const value = characters(raw, 2048);
      const url = URL.canParse(value) ? new URL(value) : undefined;
      if (!url || !/^https?:\/\//i.test(value)) {
        throw new WrongValue("Must be an absolute http or https URL.");
      }
      if (value.includes("#")) throw new WrongValue("Must be a URL without fragment.");
      if (use === "any") return value;
      if (value.includes("?")) throw new WrongValue("Must be a URL without query.");
      if (url.username || url.password) throw new WrongValue("Must be a URL without user info.");
      return value.replace(/\/+$/, "");
    },
  };
}

/** A span of time as `<n>s|m|h|d`; the value is in whole seconds. */
export const span: Kind<number> = {
  type: "duration",
  sample: "90d",
  fromText: same,
  schema: { type: "string", pattern: "^[1-9][0-9]{0,8}[smhd]$" },
  read: (raw) => {
    const parts = typeof raw === "string" ? /^([1-9]\d{0,8})([smhd])$/.exec(raw) : null;
    if (!parts) throw new WrongValue("Must be a duration like 30s, 15m, 12h or 90d.");
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
  if (!parts || Number(parts[2]) > 65535) return "Must be a host and a port, like 0.0.0.0:8080.";
  return undefined;
});

/** An address with a port, for what is asked before any name can be resolved. */
export const addressAndPort = checkedText("address:port", "192.0.2.53:53", (value) => {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})$/.exec(value);
  const family = isIP(parts?.[1] ?? parts?.[2] ?? "");
  const bracketed = parts?.[1] !== undefined;
  const port = Number(parts?.[3]);
  if (family !== (bracketed ? 6 : 4) || port < 1 || port > 65535) {
    return "Must be an address and a port, like 192.0.2.53:53 or [2001:db8::53]:53.";
  }
  return undefined;
});

/** An address, IPv4 or IPv6. */
export const address = checkedText("IP address", "192.0.2.1", (value) =>
  isIP(value) === 0 ? "Must be an IPv4 or IPv6 address." : undefined,
);

/** An address block in CIDR form. */
export const block = checkedText("CIDR", "10.0.0.0/8", (value) => {
  const parts = /^([0-9a-fA-F:.]+)\/(\d{1,3})$/.exec(value);
  const family = isIP(parts?.[1] ?? "");
  if (!parts || family === 0 || Number(parts[2]) > (family === 4 ? 32 : 128)) {
    return "Must be an address block like 10.0.0.0/8.";
  }
  return undefined;
});

/** A host name: labels of letters, digits and inner hyphens, the last of them no number. */
export const dnsName = textual("DNS name", "pki.example.internal", {
  pattern:
    /^(?=.{1,253}$)(?!(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*$/,
});

/**
 * The name of a profile or label: 1..64 letters, digits, dots, underscores and hyphens (CFG-10).
 */
export const label = textual("name", "server", {
  pattern: /^[A-Za-z0-9._-]{1,64}$/,
  wants: "Must be 1 to 64 of the characters A-Z, a-z, 0-9, dot, underscore and hyphen.",
});

/** A dotted object identifier: first arc 0..2, second below 40 under 0 and 1 (X.660). */
export const objectId = textual("OID", "1.3.6.1.4.1.55555.1", {
  pattern: /^([01]\.[0-3]?\d|2\.(0|[1-9]\d{0,38}))(\.(0|[1-9]\d{0,38})){0,30}$/,
  wants: "Must be a dotted object identifier.",
});

function characters(raw: unknown, max: number): string {
  if (typeof raw !== "string") throw new WrongValue("Must be text; put it in quotes.");
  if (raw.length === 0) throw new WrongValue("Must not be empty.");
  if (raw.length > max) throw new WrongValue(`Must have at most ${max} characters.`);
  if (controlCharacter.test(raw)) throw new WrongValue("Must not have control characters.");
  return raw;
}

function same<T>(value: T): T {
  return value;
}

const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const controlCharacter = /\p{Cc}/u;
