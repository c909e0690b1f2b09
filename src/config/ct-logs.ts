/**
 * The transparency logs of a configuration with what its files add: keys, the known logs, and every
 * fault (V-13, V-27).
 */

import { readFileSync, statSync } from "node:fs";

import { DerError } from "#core/asn1/cursor.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { ctMet, ctNeeds } from "#core/policy/transparency.ts";
import { isObject } from "#core/shape.ts";
import { type LogKey, logKeyOf } from "#core/transparency/log-keys.ts";

import type { Fault } from "./faults.ts";
import type { Config } from "./schema.ts";
import { profileOf } from "#config/sections/issuance.ts";
import type { LogSetting } from "#config/sections/transparency.ts";

/** A log, complete. */
export interface ConfiguredLog {
  readonly name: string;
  readonly operator: string;
  readonly api: "rfc6962" | "static";
  readonly url: string;
  readonly monitoringUrl: string;
  readonly key: LogKey;
  readonly mmdSeconds: number;
  readonly usable: boolean;
}

/** The logs, and what is wrong with them and with the profiles that use them. */
export function configuredLogs(config: Config): {
  readonly logs: readonly ConfiguredLog[];
  readonly faults: readonly Fault[];
} {
  const faults: Fault[] = [];
  const { logs: settings, known_logs_file } = config.certificate_transparency;
  const known = known_logs_file === undefined ? [] : knownLogs(known_logs_file, faults);
  const logs = settings.flatMap((setting, index) => {
    const path = `certificate_transparency.logs[${index}]`;
    const log = completed(setting, path, known, faults);
    return log === undefined ? [] : [log];
  });
  for (const [index, log] of logs.entries()) {
    const twin = logs.slice(0, index).find((other) => sameLog(log, other));
    if (twin === undefined) continue;
    const path = `certificate_transparency.logs[${index}]`;
    faults.push({ path, sentence: `Has the name or the key of the log ${twin.name}.` });
  }
  return { logs, faults: [...faults, ...(faults.length > 0 ? [] : profileFaults(config, logs))] };
}

/** V-13: a profile whose policy no answer of its logs could meet. */
function profileFaults(config: Config, logs: readonly ConfiguredLog[]): readonly Fault[] {
  return config.profiles.flatMap((setting, index) => {
    const { ct, maxValiditySeconds } = profileOf(setting);
    if (ct === undefined || !ct.enabled) return [];
    const path = `profiles[${index}].ct`;
    const unknown = ct.logs.find((name) => !logs.some((log) => log.name === name));
    if (unknown !== undefined) {
      return [{ path: `${path}.logs`, sentence: `There is no log named ${unknown}.` }];
    }
    const usable = logs.filter(
      (log) => log.usable && (ct.logs.length === 0 || ct.logs.includes(log.name)),
    );
    const needs = ctNeeds(ct, maxValiditySeconds);
    if (needs.scts > usable.length) {
      const sentence = `Needs ${needs.scts} promises, but only ${usable.length} of its logs can be used.`;
      return [{ path: `${path}.min_scts`, sentence }];
    }
    const operators = usable.map(({ operator }) => operator);
    if (ctMet(needs, operators)) return [];
    const sentence = "Its usable logs are not of the operators the profile asks for.";
    return [{ path: `${path}.min_distinct_operators`, sentence }];
  });
}

/** What a log list says of one log. */
interface Known {
  readonly url: string;
  readonly operator: string;
  readonly key: string;
  readonly usable: boolean;
  readonly monitoringUrl: string | undefined;
}

function completed(
  setting: LogSetting,
  path: string,
  known: readonly Known[],
  faults: Fault[],
): ConfiguredLog | undefined {
  const wrong = (key: string, sentence: string): undefined => {
    faults.push({ path: `${path}.${key}`, sentence });
  };
  const { name, url, public_key, public_key_file } = setting;
  if (name === undefined) return wrong("name", "Must be set.");
  if (url === undefined) return wrong("url", "Must be set.");
  const listed = known.find((one) => one.url === url);
  const operator = setting.operator ?? listed?.operator;
  if (operator === undefined) return wrong("operator", "Must be set; no known log has this URL.");
  if (public_key !== undefined && public_key_file !== undefined) {
    return wrong("public_key_file", "Only one of public_key and public_key_file may be set.");
  }
  const member = public_key_file === undefined ? "public_key" : "public_key_file";
  const text = public_key_file === undefined ? public_key : textOf(public_key_file);
  if (text === undefined && public_key_file !== undefined) {
    return wrong(member, `${public_key_file} cannot be read.`);
  }
  const keyText = text ?? listed?.key;
  if (keyText === undefined) return wrong("public_key", "Must be set; no known log has this URL.");
  const key = keyIn(keyText);
  if (key === undefined) return wrong(member, "Must be an ECDSA P-256 or RSA public key.");
  const api = listed?.monitoringUrl === undefined ? setting.api : "static";
  const monitoringUrl = setting.monitoring_url ?? listed?.monitoringUrl;
  if (api === "static" && monitoringUrl === undefined) {
    return wrong("monitoring_url", "Must be set for a static log.");
  }
  return {
    name,
    operator,
    api,
    url,
    key,
    monitoringUrl: monitoringUrl ?? url,
    mmdSeconds: setting.mmd_hours * 3600,
    usable: !setting.disabled && (listed?.usable ?? true),
  };
}

const sameLog = (one: ConfiguredLog, other: ConfiguredLog): boolean =>
  one.name === other.name || one.key.logId.toHex() === other.key.logId.toHex();

/** Reads PEM, or base64 of the SubjectPublicKeyInfo. */
function keyIn(text: string): LogKey | undefined {
  try {
    const der = decodePem(text, ["PUBLIC KEY"]) ?? Uint8Array.fromBase64(text.trim());
    return logKeyOf(der);
  } catch (error) {
    // The text is no key, or none a log may have; the caller says so. Anything else is a bug.
    const expected = [DerError, RangeError, SyntaxError, TypeError];
    if (expected.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

/** The logs of a v3 log list with the state each is in. */
function knownLogs(file: string, faults: Fault[]): readonly Known[] {
  const list = parsed(textOf(file));
  if (!isObject(list) || !Array.isArray(list.operators)) {
    const sentence = "The file holds no log list of version 3.";
    faults.push({ path: "certificate_transparency.known_logs_file", sentence });
    return [];
  }
  return list.operators.flatMap((operator: unknown) => {
    if (!isObject(operator)) return [];
    const name = textAt(operator, "name");
    const logs = [...listAt(operator, "logs"), ...listAt(operator, "tiled_logs")];
    return logs.flatMap((log) => {
      const url = textAt(log, "url") ?? textAt(log, "submission_url");
      const key = textAt(log, "key");
      if (name === undefined || url === undefined || key === undefined) return [];
      const monitoringUrl = textAt(log, "monitoring_url");
      return [
        {
          url: bare(url),
          operator: name,
          key,
          usable: takesMore(log.state),
          monitoringUrl: monitoringUrl === undefined ? undefined : bare(monitoringUrl),
        },
      ];
    });
  });
}

/**
 * A log of the list takes certificates while it is qualified or usable; read-only and retired ones
 * do not.
 */
const takesMore = (state: unknown): boolean =>
  !isObject(state) || "usable" in state || "qualified" in state;

const bare = (url: string): string => url.replace(/\/+$/, "");

type Mapping = Readonly<Record<string, unknown>>;

function textAt(from: Mapping, name: string): string | undefined {
  const value = from[name];
  return typeof value === "string" ? value : undefined;
}

function listAt(from: Mapping, name: string): readonly Mapping[] {
  const value = from[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textOf(file: string): string | undefined {
  try {
    return statSync(file).size > fileBytesMax ? undefined : readFileSync(file, "utf8");
  } catch {
    return undefined; // The caller names the file in its fault.
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined; // Not JSON: the caller says what it should be.
  }
}

const fileBytesMax = 8 * 1024 * 1024;
