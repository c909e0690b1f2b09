/** Validation reports in JSON. */

import { coversCa, type Principal } from "#core/access/principal.ts";
import { caId } from "#core/ids.ts";
import type { Asker } from "#core/fair-queue.ts";
import type { MemberFacts } from "#core/policy/path-work.ts";
import {
  checkNames,
  checkStatuses,
  revocationSources,
  type RevocationState,
  revocationStates,
} from "#core/policy/validate.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  list,
  many,
  oneOf,
  optional,
  type Output,
  otherwise,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { instant, timestamp } from "#core/time.ts";
import { type Asking, type Definition, operation } from "#domain/access/operation.ts";
import { anyScope } from "#domain/access/targets.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { type Validation, type ValidationDeps, validate } from "#domain/certificates/validate.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { count, serialText, time } from "./shapes.ts";

/** The handler for `cert.validate`. */
export function validationHandlers(deps: ValidationDeps) {
  return {
    "cert.validate": operation({
      summary: "Whether a certificate is valid under a CA, and why not.",
      target: anyScope,
      input: {
        ca: text({ min: 1, max: 100 }),
        certificate: text({ min: 1, max: 131_072 }),
        intermediates: otherwise(list(text({ min: 1, max: 131_072 }), 0, 16), []),
        skip_revocation: otherwise(flag(), false),
      },
      output: reportShape,
      run: async ({ input, reach, origin }) => {
        const ca = await readableCa(deps.store, input.ca, reach);
        const { certificate, intermediates, skip_revocation: skipRevocation } = input;
        const asker = askerOf(origin.principal, ca);
        const request = { certificate, intermediates, skipRevocation, asker };
        return reportJson(ca, await validate(deps, ca, request));
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

/**
 * Tokens are their maker's, and people of a tenant its own; a tenant that mints many tokens has no
 * more turns by that.
 */
function askerOf({ isRoot, roles, tenantRoles, person }: Principal, ca: CaRecord): Asker {
  const everywhere = isRoot || roles.length > 0;
  const [tenant = ca.tenant] = Object.keys(tenantRoles).sort();
  return { home: everywhere ? "" : tenant, name: JSON.stringify(person) };
}

/** By id or label; foreign and absent ones answer alike. */
async function readableCa(
  { read }: Store,
  reference: string,
  reach: Asking["reach"],
): Promise<CaRecord> {
  const ca = (await read.cas.byId(caId(reference))) ?? (await read.cas.byLabel(reference));
  if (ca === undefined || ca.internal) throw refuse("not_found");
  if (!coversCa(reach, ca)) throw refuse("not_found");
  return ca;
}

const revocationShape = shape({
  state: oneOf(revocationStates),
  revoked_at: optional(time),
  reason: optional(words()),
  source: oneOf(revocationSources),
});
const memberShape = shape({
  position: count,
  subject: words(),
  issuer: words(),
  serial: serialText,
  not_before: time,
  not_after: time,
  is_ca: flag(),
  is_trust_anchor: flag(),
  self_signed: flag(),
  key_algorithm: words(),
  key_size: count,
  signature_algorithm: words(),
  fingerprint: words(),
  subject_key_id: words(),
  authority_key_id: words(),
  expired: flag(),
  not_yet_valid: flag(),
  weak_key: flag(),
  weak_signature: flag(),
  revocation: optional(revocationShape),
});
const spanShapes = { valid_from: optional(time), valid_until: optional(time) };
const reportShape = shape({
  ca_id: words(),
  ca_label: words(),
  trust_anchor: words(),
  chain_built: flag(),
  valid: flag(),
  decision: oneOf(["accept", "reject"]),
  evaluated_at: time,
  ...spanShapes,
  chain: many(memberShape),
  checks: many(
    shape({ name: oneOf(checkNames), status: oneOf(checkStatuses), detail: optional(words()) }),
  ),
  reasons: many(words()),
  warnings: many(words()),
});

function reportJson(ca: CaRecord, validation: Validation): ValueOf<typeof reportShape> {
  const { anchorName, path, built, checks, now } = validation;
  const valid = checks.every(({ status }) => status !== "fail");
  const said = (status: string) =>
    checks
      .filter((check) => check.status === status)
      .map(({ name, detail }) => (detail === undefined ? name : `${name}: ${detail}`));
  return {
    ca_id: ca.id,
    ca_label: ca.label,
    trust_anchor: anchorName,
    chain_built: built,
    valid,
    decision: valid ? "accept" : "reject",
    evaluated_at: timestamp(now),
    ...(built ? spanOf(path) : {}),
    chain: path.map((one, position) => memberJson(validation, one, position)),
    checks,
    reasons: said("fail"),
    warnings: said("warn"),
  };
}

/** When every certificate of the path is valid. */
const spanOf = (path: readonly MemberFacts[]): Output<typeof spanShapes> => ({
  valid_from: timestamp(instant(Math.max(...path.map(({ notBefore }) => notBefore)))),
  valid_until: timestamp(instant(Math.min(...path.map(({ notAfter }) => notAfter)))),
});

function memberJson(
  { revocation, now }: Validation,
  facts: MemberFacts,
  position: number,
): ValueOf<typeof memberShape> {
  const state = revocation[position];
  return {
    position,
    subject: facts.subject,
    issuer: facts.issuer,
    serial: facts.serial,
    not_before: timestamp(facts.notBefore),
    not_after: timestamp(facts.notAfter),
    is_ca: facts.isCa,
    is_trust_anchor: facts.isTrustAnchor,
    self_signed: facts.selfSigned,
    key_algorithm: facts.keyAlgorithm,
    key_size: facts.keySize,
    signature_algorithm: facts.signatureAlgorithm,
    fingerprint: facts.fingerprint,
    subject_key_id: facts.subjectKeyId,
    authority_key_id: facts.authorityKeyId,
    expired: facts.notAfter + 999 < now,
    not_yet_valid: now < facts.notBefore,
    weak_key: facts.weakKey,
    weak_signature: facts.weakSignature,
    ...(state === undefined ? {} : { revocation: revocationJson(state) }),
  };
}

const revocationJson = ({
  state,
  revokedAt,
  reason,
  source,
}: RevocationState): ValueOf<typeof revocationShape> => ({
  state,
  ...(revokedAt === undefined ? {} : { revoked_at: timestamp(revokedAt) }),
  ...(reason === undefined ? {} : { reason }),
  source,
});
