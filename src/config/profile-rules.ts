/**
 * Startup validation of profiles: what each may ask for, and what it must not leave open (V-13,
 * V-14, CFG-10).
 */

import { isFixedLintRule, isLintRule } from "#core/policy/lint.ts";
import { canaryProfile } from "#core/policy/profiles.ts";
import { extendedKeyUsages } from "#core/x509/extensions.ts";

import type { Fault } from "./faults.ts";
import type { Config } from "./schema.ts";
import { type ProfileSetting, profileOf } from "#config/sections/issuance.ts";

/** V-13 and CFG-10. */
export function profileFaults({ profiles, caa, crl }: Config): readonly Fault[] {
  const seen = new Map<string, string>();
  return profiles.flatMap((setting, index) => {
    const path = `profiles[${index}]`;
    const faults = [...profileFaultsOf(setting, path), ...caaFaults(setting, path, caa)];
    faults.push(...publicFaults(setting, path, crl.base_url));
    const name = setting.name ?? "";
    const twin = seen.get(name.toLowerCase());
    if (twin !== undefined) {
      const sentence = `There is another profile ${twin}; names must differ in more than case.`;
      faults.push(fault(`${path}.name`, sentence));
    }
    seen.set(name.toLowerCase(), name);
    return faults;
  });
}

function profileFaultsOf(setting: ProfileSetting, path: string): readonly Fault[] {
  const faults: Fault[] = [];
  if (setting.name === undefined) faults.push(fault(`${path}.name`, "Must be set."));
  for (const key of ["default_validity", "max_validity"] as const) {
    if (setting[key] !== undefined && setting[`${key}_days`] !== 0) {
      faults.push(fault(`${path}.${key}`, `Only one of ${key} and ${key}_days may be set.`));
    }
  }
  const { defaultValiditySeconds, maxValiditySeconds } = profileOf(setting);
  if (maxValiditySeconds > 0 && defaultValiditySeconds > maxValiditySeconds) {
    const key =
      setting.default_validity === undefined ? "default_validity_days" : "default_validity";
    faults.push(fault(`${path}.${key}`, "Must not be longer than the longest validity."));
  }
  if (setting.omit_revocation_pointers && !withinAWeek(maxValiditySeconds)) {
    const sentence = "Needs a longest validity of at most 7 days.";
    faults.push(fault(`${path}.omit_revocation_pointers`, sentence));
  }
  if (setting.pqc_key_type !== undefined && setting.algorithm === "classical") {
    faults.push(fault(`${path}.pqc_key_type`, "Has no meaning with algorithm classical."));
  }
  if (setting.ct.enabled && setting.algorithm === "hybrid") {
    faults.push(fault(`${path}.ct.enabled`, "Must not be true with algorithm hybrid."));
  }
  return [...faults, ...usageFaults(setting, path), ...lintFaults(setting, path)];
}

/**
 * Without extended key usages a certificate is good for everything; the same one twice is a slip,
 * by whichever name.
 */
function usageFaults(setting: ProfileSetting, path: string): readonly Fault[] {
  const { key_usages, ext_key_usages } = setting;
  const words: Readonly<Record<string, string | undefined>> = extendedKeyUsages;
  const lists: Readonly<Record<string, readonly string[]>> = {
    key_usages,
    ext_key_usages: ext_key_usages.map((usage) => words[usage] ?? usage),
    "policies.oids": setting.policies.oids,
    "policies.mappings": setting.policies.mappings,
  };
  const faults: Fault[] = [];
  if (setting.policies.mappings.length > 0 && setting.policies.oids.length === 0) {
    faults.push(fault(`${path}.policies.mappings`, "Needs policies.oids, to which they map."));
  }
  if (ext_key_usages.length === 0) {
    const sentence = "Must be set, or its certificates would be good for every purpose.";
    faults.push(fault(`${path}.ext_key_usages`, sentence));
  }
  for (const [key, values] of Object.entries(lists)) {
    const again = values.findIndex((value, at) => values.indexOf(value) < at);
    if (again >= 0) faults.push(fault(`${path}.${key}[${again}]`, "Stands there before."));
  }
  return faults;
}

/**
 * A profile relaxes only what exists and may be relaxed; the canary's lint stays as it is (LINT-2).
 */
function lintFaults({ name, lint }: ProfileSetting, path: string): readonly Fault[] {
  const faults = Object.keys(lint.overrides).flatMap((rule) => {
    const at = `${path}.lint.overrides.${rule}`;
    if (!isLintRule(rule)) return [fault(at, "There is no lint rule of this name.")];
    return isFixedLintRule(rule) ? [fault(at, "This rule cannot be changed.")] : [];
  });
  const relaxed = lint.disabled || lint.mode === "warn" || Object.keys(lint.overrides).length > 0;
  if (name === canaryProfile && relaxed) {
    faults.push(fault(`${path}.lint`, "The lint of the canary profile cannot be relaxed."));
  }
  return faults;
}

/** V-14, without CAA, which `caaFaults` looks at. */
function publicFaults(
  { lint, policies }: ProfileSetting,
  path: string,
  urlBase: string | undefined,
): readonly Fault[] {
  if (!lint.public) return [];
  const faults: Fault[] = [];
  if (urlBase === undefined) {
    const sentence = "Needs crl.base_url or server.public_url for the pointers it must have.";
    faults.push(fault(`${path}.lint.public`, sentence));
  }
  if (policies.oids.length === 0) {
    faults.push(fault(`${path}.policies.oids`, "Must be set, because lint.public is true."));
  }
  return faults;
}

/**
 * V-13: without a name of our own no record could ever name us, and every domain with one would be
 * refused. V-14: what the public shall trust is not issued without asking.
 */
function caaFaults(setting: ProfileSetting, path: string, caa: Config["caa"]): readonly Fault[] {
  const named = (setting.caa.identifier ?? caa.identifier) !== undefined;
  if (setting.caa.mode === "enforce" && !named) {
    return [fault(`${path}.caa.mode`, "Needs caa.identifier, or an identifier of the profile.")];
  }
  if (setting.caa.mode === "off" && setting.lint.public) {
    return [fault(`${path}.caa.mode`, "Must not be off in a public profile.")];
  }
  return [];
}

const withinAWeek = (seconds: number): boolean => seconds > 0 && seconds <= 7 * 86_400;

const fault = (path: string, sentence: string): Fault => ({ path, sentence });
