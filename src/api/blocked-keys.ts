/** Blocked keys in JSON. */

import { fingerprintField } from "./fields.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { refuse } from "#core/problems.ts";
import { oneOf, optional, shape, text, type ValueOf, words } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { fingerprintOf, parsePublicKey, keyDigests } from "#core/x509/public-keys.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { anyScope, thePlatform } from "#domain/access/targets.ts";
import type { BlockedKeys } from "#domain/key-checks/block.ts";
import { type BlockedKeyRecord, blockedKeySources } from "#domain/key-checks/store.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { count, fingerprintText, simpleChange, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly blockedKeys: BlockedKeys;
}

/** Handlers for `blocked_key.list`, `key.block`, `key.unblock`. */
export function blockedKeyHandlers({ store, blockedKeys }: Deps) {
  return {
    "blocked_key.list": operation({
      summary: "Keys that are never certified again, newest first.",
      target: anyScope,
      input: { q: optional(text({ min: 1, max: 200 })), public_key_sha256: digest, ...pageFields },
      output: listOf(recordShape),
      run: async (call) => {
        const { q, public_key_sha256: spkiSha256 } = call.input;
        const filter = { text: q, spkiSha256 };
        // What is blocked for all belongs to no tenant and is seen platform-wide only (SCOPE-2).
        return await pageOf("blocked_key.list", call, filter, recordJson, (limit, after) =>
          store.read.keyChecks.page(call.rights.reachByRoles("read"), filter, limit, after),
        );
      },
    }),
    "key.block": operation({
      summary:
        "Block a key; certificates that have it stay as they are. An RSA key with an unusual exponent has a second record, for its modulus.",
      target: thePlatform,
      input: {
        public_key_sha256: digest,
        certificate: pem,
        csr: pem,
        public_key: pem,
        reason: text({ min: 1, max: 200 }),
      },
      output: shape({ ...recordMembers, matching_certificates: count }),
      run: async (call) => {
        const { reason, ...named } = call.input;
        const { record, added, matching } = await blockedKeys.add(
          call.origin,
          digestsOf(named),
          reason,
        );
        const body = { ...recordJson(record), matching_certificates: matching };
        return added ? made(body) : body;
      },
    }),
    "key.unblock": operation({
      summary: "Take a key off the list.",
      target: thePlatform,
      input: { id: text({ max: 64 }) },
      output: simpleChange("deleted"),
      run: async (call) => {
        await blockedKeys.remove(call.origin, call.input.id);
        return { status: "deleted" as const };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const digest = optional(fingerprintField);
const pem = optional(text({ min: 1, max: 131_072 }));

interface NamedKey {
  readonly public_key_sha256: string | undefined;
  readonly certificate: string | undefined;
  readonly csr: string | undefined;
  readonly public_key: string | undefined;
}

/**
 * The digests of the one key named, of which nothing but a fingerprint may be known. Refuses none
 * and several, and what cannot be read.
 */
function digestsOf(named: NamedKey): readonly string[] {
  const fields = Object.entries(named).filter(([, value]) => value !== undefined);
  if (fields.length === 0) throw refuse("missing_field", { field: "public_key_sha256" });
  if (fields.length > 1) throw refuse("conflicting_fields", { fields: fields.map(([n]) => n) });
  if (named.public_key_sha256 !== undefined) return [named.public_key_sha256];
  if (named.certificate !== undefined) return keyDigests(certificateKey(named.certificate));
  // Whoever holds the key is beside the point: it is blocked, not certified.
  if (named.csr !== undefined) return keyDigests(parseCsr(named.csr).spki);
  return keyDigests(bareKey(named.public_key ?? ""));
}

function certificateKey(certificate: string): Uint8Array {
  const der = decodePem(certificate, ["CERTIFICATE"]);
  if (der === undefined) throw refuse("bad_certificate", { reason: "syntax" });
  return readable(() => parseCertificate(der).spki, "bad_certificate");
}

function bareKey(publicKey: string): Uint8Array {
  const der = decodePem(publicKey, ["PUBLIC KEY"]);
  if (der === undefined) throw refuse("bad_key", { reason: "syntax" });
  return readable(() => parsePublicKey(der).spki, "bad_key");
}

function readable<T>(read: () => T, code: "bad_certificate" | "bad_key"): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError) throw refuse(code, { reason: "syntax" });
    throw error;
  }
}

const recordMembers = {
  tenant_id: optional(words()),
  id: words(),
  public_key_fingerprint: fingerprintText,
  reason: words(),
  source: oneOf(blockedKeySources),
  created_by: words(),
  created_at: time,
};
const recordShape = shape(recordMembers);

function recordJson(record: BlockedKeyRecord): ValueOf<typeof recordShape> {
  const { id, tenant, spkiSha256, reason, source, createdBy, createdAt } = record;
  return {
    ...(tenant === undefined ? {} : { tenant_id: tenant }),
    id,
    public_key_fingerprint: fingerprintOf(spkiSha256),
    reason,
    source,
    created_by: createdBy,
    created_at: timestamp(createdAt),
  };
}
