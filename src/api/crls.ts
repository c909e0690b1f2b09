/**
 * CRLs in JSON: the state of every list of a CA, signing all of them now, and taking over what
 * another one says.
 */

import { decodePem } from "#core/asn1/pem.ts";
import { refuse } from "#core/problems.ts";
import { flag, many, optional, shape, text, type ValueOf, words } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { theCa } from "#domain/access/targets.ts";
import type { Clock } from "#domain/ports.ts";
import type { CrlPublisher } from "#domain/revocation/crl.ts";
import type { CrlImport } from "#domain/revocation/import.ts";
import { type CrlScopes, fullScope } from "#domain/revocation/scopes.ts";
import type { CrlHead } from "#domain/revocation/store.ts";
import type { OperationName } from "#operations";
import { count, present, time, timeText } from "./shapes.ts";

interface Deps {
  readonly clock: Clock;
  readonly publisher: Pick<CrlPublisher, "publishAll" | "newest">;
  readonly scopes: CrlScopes;
  readonly crlImport: Pick<CrlImport, "import">;
}

/** Handlers for `crl.status`, `crl.publish`, `crl.import`. */
export function crlAdministration(deps: Deps) {
  const { publisher, scopes, clock } = deps;
  return {
    "crl.status": operation({
      summary: "Numbers, times and sizes of the published CRLs; of one partition with `shard`.",
      target: theCa,
      input: { shard: optional(text({ min: 1, max: 4, pattern: /^[0-9]+$/ })) },
      output: stateShape,
      refuses: ["bad_partition"],
      run: async (call) => {
        const ca = call.ca;
        const { shard } = call.input;
        const scope = shard === undefined ? fullScope : await scopes.named(ca.id, shard);
        const stateOf = async (name: string) => {
          const { base, delta } = await publisher.newest(ca.id, name);
          return { scope: name, base: listJson(base, clock), delta: deltaJson(delta, clock) };
        };
        const { base, delta } = await stateOf(scope);
        const names = shard === undefined ? await scopes.all(ca.id) : [scope];
        const sharded = { sharded: scopes.shards > 0, shard_count: scopes.shards };
        const states = await Promise.all(names.map(stateOf));
        return { ca_id: ca.id, ...sharded, base, delta, scopes: states };
      },
    }),
    "crl.publish": operation({
      summary: "Sign and publish base and delta of every scope now.",
      target: theCa,
      output: publishedShape,
      refuses: ["key_unavailable", "crl_unavailable"],
      run: async (call) => {
        const published = await publisher.publishAll(call.ca, call.origin);
        return {
          scopes: published.map(({ scope, base, delta }) => ({
            scope,
            number: base.number,
            delta_number: delta.number,
          })),
        };
      },
    }),
    "crl.import": operation({
      summary: "Revoke what another CRL of this CA says, in PEM or as DER in base64.",
      target: theCa,
      input: { crl: text({ min: 1, max: crlTextMax }) },
      output: importedShape,
      run: async (call) => {
        // Putting the text of 33 million characters together, decoding it and reading it each take
        // some tens of milliseconds.
        await nextTurn();
        const der = derOf(call.input.crl);
        await nextTurn();
        const done = await deps.crlImport.import(call.ca, der, call.origin);
        const { imported, alreadyRevoked, skipped, skippedSerials } = done;
        const counts = { imported, already_revoked: alreadyRevoked };
        return skipped === 0 ? counts : { ...counts, skipped, skipped_serials: skippedSerials };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

/** Refuses `invalid_field` for what is neither PEM of one CRL nor base64. */
function derOf(given: string): Uint8Array {
  const der = given.includes("-----") ? decodePem(given, ["X509 CRL"]) : fromBase64(given);
  if (der === undefined) {
    throw refuse("invalid_field", { field: "crl", reason: "is neither PEM nor base64" });
  }
  return der;
}

function fromBase64(given: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(given);
  } catch {
    return undefined; // The caller says what it should have been.
  }
}

const crlMembers = {
  available: flag(),
  number: optional(count),
  this_update: optional(time),
  // thisUpdate is set back, for clients whose clocks are behind; this is when it was signed.
  published_at: optional(time),
  next_update: optional(time),
  expired: flag(),
  revoked_count: count,
};
/** A list, and a delta, as `crl.status` tells of them. */
export const baseShape = shape(crlMembers);
export const deltaShape = shape({ ...crlMembers, base_crl_number: optional(count) });
const newestMembers = { base: baseShape, delta: deltaShape };

const stateShape = shape({
  ca_id: words(),
  sharded: flag(),
  shard_count: count,
  ...newestMembers,
  scopes: many(shape({ scope: words(), ...newestMembers })),
});

const publishedShape = shape({
  scopes: many(shape({ scope: words(), number: count, delta_number: count })),
});

const importedShape = shape({
  imported: count,
  already_revoked: count,
  /** Entries whose serial cannot be stored, and the first of these serials. */
  skipped: optional(count),
  skipped_serials: optional(many(words({ pattern: "^-?[0-9]+$" }))),
});

/** The state of the newest list of a scope. */
export function listJson(
  head: CrlHead | undefined,
  clock: Pick<Clock, "now">,
): ValueOf<typeof baseShape> {
  const expired = head !== undefined && head.nextUpdate <= clock.now();
  const facts =
    head &&
    present({
      number: head.number,
      this_update: timestamp(head.thisUpdate),
      next_update: timestamp(head.nextUpdate),
      published_at: timeText(head.publishedAt),
    });
  return {
    available: head !== undefined && !expired,
    ...facts,
    expired,
    revoked_count: head?.entries ?? 0,
  };
}

/** The same of the delta on it. */
export const deltaJson = (
  head: CrlHead | undefined,
  clock: Pick<Clock, "now">,
): ValueOf<typeof deltaShape> => ({
  ...listJson(head, clock),
  ...(head === undefined ? {} : { base_crl_number: head.base }),
});

/** Characters of a CRL as text: what fits into the largest body of the operation. */
const crlTextMax = 33_000_000;
