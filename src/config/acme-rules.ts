/** Startup validation of ACME: V-17, V-26. */

import { profileOf } from "#config/sections/issuance.ts";
import { ProfileSet } from "#core/policy/profiles.ts";

import type { Fault } from "./faults.ts";
import type { Config } from "./schema.ts";

/** What ACME lacks to be served; nothing is asked of it while it is off. */
export function acmeFaults(config: Config): readonly Fault[] {
  const { acme, caa } = config;
  if (!acme.enabled) return [];
  const faults: Fault[] = [];
  if (acme.base_url === undefined) {
    faults.push(fault("acme.base_url", "Must be set, or server.public_url."));
  }
  if (acme.challenge_types.length === 0) {
    faults.push(fault("acme.challenge_types", "At least one is needed."));
  }
  if (acme.challenge_types.includes("dns-persist-01") && caa.identifier === undefined) {
    faults.push(fault("acme.challenge_types", "dns-persist-01 needs caa.identifier."));
  }
  return [
    ...faults,
    ...kidFaults(config),
    ...directoryFaults(config),
    ...pathFaults(config),
    ...offerFaults(config),
  ];
}

/** V-21: kids that pkid gives are its own, so that no key of the file takes the place of one. */
const kidFaults = ({ acme }: Config): readonly Fault[] =>
  Object.keys(acme.eab_hmac_keys)
    .filter((kid) => /^eab_[A-Za-z0-9_-]{22}$/.test(kid))
    .map((kid) => fault(`acme.eab_hmac_keys.${kid}`, "Kids of this form are made by pkid."));

/** Each directory has exactly one CA, and a profile that exists. */
function directoryFaults({ acme, profiles }: Config): readonly Fault[] {
  const known = new ProfileSet(profiles.map(profileOf));
  const places = [
    ["acme", acme] as const,
    ...Object.entries(acme.directories).map(
      ([name, one]) => [`acme.directories.${name}`, one] as const,
    ),
  ];
  return places.flatMap(([path, { ca_id, ca_label, profile }]) => {
    const faults: Fault[] = [];
    if ((ca_id === undefined) === (ca_label === undefined)) {
      faults.push(fault(`${path}.ca_label`, "Exactly one of ca_id and ca_label must be set."));
    }
    if (!known.has(profile)) faults.push(noProfile(`${path}.profile`, profile));
    return faults;
  });
}

/** V-26: no two directories share a path, and none lies where something else is served. */
function pathFaults({ acme }: Config): readonly Fault[] {
  const faults: Fault[] = [];
  const taken = [...foreignPaths];
  const places = [
    ["acme.directory_path", acme.directory_path] as const,
    ...Object.entries(acme.directories).map(
      ([name, { path }]) => [`acme.directories.${name}.path`, path] as const,
    ),
  ];
  for (const [key, path] of places) {
    if (path === undefined) {
      faults.push(fault(key, "Must be set."));
      continue;
    }
    const other = taken.find((one) => isWithin(one, path) || isWithin(path, one));
    if (other !== undefined)
      faults.push(fault(key, `Must not lie inside ${other}, nor around it.`));
    taken.push(path);
  }
  if (Object.hasOwn(acme.directories, "default")) {
    faults.push(fault("acme.directories.default", "The directory of acme itself has this name."));
  }
  return faults;
}

/** Profiles that clients may name exist here. */
function offerFaults({ acme, profiles }: Config): readonly Fault[] {
  const known = new ProfileSet(profiles.map(profileOf));
  return Object.entries(acme.profiles).flatMap(([name, { profile }]) => {
    const path = `acme.profiles.${name}.profile`;
    if (profile === undefined) return [fault(path, "Must be set.")];
    return known.has(profile) ? [] : [noProfile(path, profile)];
  });
}

const isWithin = (outer: string, inner: string): boolean =>
  inner === outer || inner.startsWith(`${outer}/`);

const noProfile = (path: string, profile: string): Fault =>
  fault(path, `There is no profile ${JSON.stringify(profile)}.`);

const fault = (path: string, sentence: string): Fault => ({ path, sentence });

/** Where something else is served (V-26). */
const foreignPaths: readonly string[] = [
  "/api",
  "/auth",
  "/console",
  "/docs",
  "/metrics",
  "/healthz",
  "/readyz",
  "/openapi.json",
];
