/**
 * Puts a refusal about a CA where the person can do something about it: which field it is about,
 * and in a sentence what the server's closed words mean.
 */

import type { Refusal, Reply } from "#web/api.ts";

/** The same reply; a refusal with the field and the sentence its code stands for. */
export function explained<Answer>(reply: Reply<Answer> | undefined): Reply<Answer> | undefined {
  if (reply?.kind !== "refused") return reply;
  return { kind: "refused", refusal: explainedRefusal(reply.refusal) };
}

function explainedRefusal(refusal: Refusal): Refusal {
  const { code, facts } = refusal;
  switch (code) {
    case "ca_constraint": {
      const [field, reason] = constraintWords[wordOf(facts.reason)] ?? [];
      return field === undefined ? refusal : told(refusal, { field, reason });
    }
    case "key_type_unsupported":
      return told(refusal, { field: "key_type", reason: `(${wordOf(facts.key_type)})` });
    case "validity_exceeds_limit":
      return told(refusal, { field: "validity_days", reason: limitWords(facts) });
    case "bad_certificate":
      return told(refusal, { field: fieldOfPem(wordOf(facts.reason)) });
    case "bad_csr":
      return told(refusal, { field: "csr_pem" });
    case "gate_refused":
      return told(refusal, { reason: gateWords(facts.gates) });
    case "leaves_outstanding":
      return told(refusal, { reason: `There are ${String(facts.outstanding_leaves)}.` });
    case "not_rotatable":
      return told(refusal, { reason: `(${wordOf(facts.reason).replaceAll("_", " ")})` });
    case "ca_not_active":
    case "ca_not_pending":
    case "ca_not_superseded":
      return told(refusal, { reason: `It is ${wordOf(facts.status)}.` });
    default:
      return refusal;
  }
}

const told = (refusal: Refusal, more: Readonly<Record<string, string | undefined>>): Refusal => ({
  ...refusal,
  facts: { ...refusal.facts, ...more },
});

/** What an issuer's constraints forbid: the field that says it, and why. */
const constraintWords: Readonly<Record<string, readonly [string, string]>> = {
  path_length: ["max_path_len", "The path length of the issuer leaves no room for it."],
  name_constraints: [
    "name_constraints",
    "The subject, or what is to be permitted, lies outside what the issuer permits.",
  ],
  parent_not_hybrid: ["algorithm", "The issuer has no second key to sign it with."],
  same_key: ["subject", "The issuer and the subject have the same key."],
  subject_expired: ["subject", "The certificate of the subject has expired."],
  subject_not_a_ca: ["subject", "The certificate of the subject is not one of a CA."],
};

const limitWords = ({ limit_days, limit }: Refusal["facts"]): string =>
  `At most ${String(limit_days)} days, by the ${limit === "ca" ? "issuer's own life" : wordOf(limit)}.`;

/** Readers of chains say so; everything else is about the one certificate. */
const fieldOfPem = (reason: string): string =>
  reason.includes("chain") ? "chain_pem" : "certificate_pem";

/** Each gate with what it has against the certificate. */
function gateWords(gates: unknown): string {
  if (!Array.isArray(gates)) return "";
  return gates.map(gateWord).join(" ");
}

function gateWord(gate: unknown): string {
  const { name, reason, findings } = membersOf(gate);
  const found = Array.isArray(findings)
    ? findings.map((one) => wordOf(membersOf(one).description))
    : [];
  return [`${wordOf(name)}:`, wordOf(reason), ...found].filter((word) => word !== "").join(" ");
}

/** The checks that an import failed, as the refusal lists them. */
export function failedChecks(reply: Reply<unknown> | undefined): readonly string[] | undefined {
  if (reply?.kind !== "refused" || reply.refusal.code !== "import_refused") return undefined;
  const { checks } = reply.refusal.facts;
  return Array.isArray(checks) ? checks.map(wordOf) : [];
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  // Read member by member, each looked at before it is believed.
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const wordOf = (value: unknown): string => (typeof value === "string" ? value : "");
