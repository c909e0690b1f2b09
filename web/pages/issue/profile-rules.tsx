/** The rules of a profile in words: what its certificates are for, and what is asked of them. */

import type { ComponentChildren } from "preact";
import type { Answers } from "#api/answers.ts";

export type Profile = Answers["profile.list"]["items"][number];

/** Folded away, for it is read once. */
export function ProfileRules({ profile }: { readonly profile: Profile }) {
  return (
    <details>
      <summary>What {profile.name} allows and asks</summary>
      <dl class="rules">
        {rulesOf(profile).map(([name, said]) => (
          <>
            <dt>{name}</dt>
            <dd>{said}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}

function rulesOf(profile: Profile): readonly (readonly [string, ComponentChildren])[] {
  const { lint, caa, key_checks: keys, policies, ct } = profile;
  return [
    ["Takes two", profile.require_approval ? "Yes: somebody else must approve it." : "No."],
    ["For", wordsOf(profile.ext_key_usages)],
    ["Key usages", wordsOf(profile.key_usages)],
    ["Keys", keysOf(profile)],
    ["Key checks", keys.disabled ? "off" : `${modes[keys.mode]}${duplicates(profile)}`],
    ["Lint", lint.disabled ? "off" : `${modes[lint.mode]}${lint.public ? ", public web" : ""}`],
    ["CAA", caaWords[caa.mode] + (caa.identifier === undefined ? "" : ` for ${caa.identifier}`)],
    ["Must-staple", staple(profile)],
    ["Transparency", ct === undefined ? "none" : `${ct.min_scts} logs must answer`],
    ["Policies", policies === undefined ? "none" : wordsOf(policies.oids)],
  ];
}

function keysOf({ algorithm, pqc_key_type: type, key_checks: keys }: Profile): string {
  if (algorithm === "pqc") return `ML-DSA${type === undefined ? "" : `, ${type} only`}`;
  const rsa = `ECDSA, Ed25519, or RSA of ${keys.min_rsa_bits} bits and more`;
  return algorithm === "hybrid" ? `${rsa}, with a second key of ML-DSA` : rsa;
}

function staple({ must_staple: must, allow_must_staple_override: free }: Profile): string {
  if (free) return must ? "yes, unless asked otherwise" : "no, unless asked otherwise";
  return must ? "yes" : "no";
}

const duplicates = ({ key_checks }: Profile): string =>
  key_checks.detect_duplicates ? "; no key of another subject" : "";

const wordsOf = (words: readonly string[]): string =>
  words.length === 0 ? "any" : words.join(", ");

const modes = { enforce: "what it finds refuses", warn: "what it finds is only said" } as const;
const caaWords = {
  off: "not looked up",
  permissive: "looked up; no answer is no objection",
  enforce: "looked up; no answer refuses",
} as const;
