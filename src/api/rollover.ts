/** Key rollover in JSON: rotate, retire, and how far it has come. */

import { assert } from "#core/problems.ts";
import { flag, type Input, integer, optional, otherwise, parsed, text } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { parseReason, revocationReasons } from "#core/x509/reasons.ts";
import { created, type Handler, handler, ok } from "#domain/access/call.ts";
import { chainBundle } from "#domain/authorities/bundle.ts";
import type { Authorities } from "#domain/hierarchy/create.ts";
import type { Retirement } from "#domain/hierarchy/retire.ts";
import { type RotationStatus, rotationStatus } from "#domain/hierarchy/rollover.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { caJson } from "./authorities.ts";
import { keyTypeField, labelField } from "./ca-fields.ts";
import { pageFields, pageOf } from "./pages.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly authorities: Pick<Authorities, "rotate" | "admitRotation">;
  readonly retirement: Retirement;
}

const rotationFields = {
  new_label: optional(labelField),
  key_type: optional(keyTypeField()),
  validity_days: optional(integer(1, 36_500)),
};
const rotationOf = ({ new_label, key_type, validity_days }: Input<typeof rotationFields>) => ({
  label: new_label,
  keyType: key_type,
  validityDays: validity_days,
});

/** Handlers for `ca.rotations`, `ca.rotation`, `ca.rotate` and `ca.retire`. */
export function rolloverHandlers(deps: Deps) {
  const { store, clock, authorities, retirement } = deps;
  return {
    "ca.rotations": rotations(deps),
    "ca.rotation": handler({
      summary: "How far the rollover of a CA has come.",
      path: { id: text() },
      run: async (call) =>
        ok(statusJson(await rotationStatus(store.read, presentCa(call.ca), clock.now()))),
    }),
    "ca.rotate": handler({
      summary: "Give a CA a new key under the same name; the old one stops issuing.",
      path: { id: text() },
      body: rotationFields,
      admit: ({ ca, origin, body }) =>
        authorities.admitRotation(origin, presentCa(ca), rotationOf(body)),
      run: async ({ ca, origin, body }) => {
        const request = rotationOf(body);
        const { old, successor } = await authorities.rotate(origin, presentCa(ca), request);
        const { retireAfter } = old;
        return created(
          {
            old_ca: caJson(old),
            new_ca: caJson(successor),
            combined_chain_pem: await chainBundle(store.read.cas, successor),
            ...(retireAfter === undefined ? {} : { retire_after: timestamp(retireAfter) }),
          },
          `/api/ca/${successor.id}`,
        );
      },
    }),
    "ca.retire": handler({
      summary: "Revoke the oldest superseded key of a CA and publish it.",
      path: { id: text() },
      body: {
        reason: otherwise(reasonField, "cessationOfOperation"),
        force: otherwise(flag(), false),
      },
      admit: ({ ca, body }) => deps.retirement.admit(presentCa(ca), body),
      run: async (call) => {
        const retired = await retirement.retire(call.origin, presentCa(call.ca), call.body);
        return ok({
          retired_ca: caJson(retired.ca),
          parent_id: retired.parent.id,
          revoked_serial: retired.ca.serial,
          crl_number: retired.crlNumber,
          outstanding_leaves: retired.outstanding,
        });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

/** Superseded CAs, whose rollover is not over, one row each. */
function rotations({ store, clock }: Deps): Handler {
  return handler({
    summary: "Rollovers that are not over: superseded CAs, newest first.",
    query: pageFields,
    run: async (call) => {
      const filter = { reach: call.reach, status: "superseded" as const };
      const list = await pageOf(
        "ca.rotations",
        call,
        {},
        (ca: CaRecord) => ca,
        (limit, after) => store.read.cas.page(filter, limit, after),
      );
      const now = clock.now();
      const items: unknown[] = [];
      // `pageOf` has rendered each item as itself.
      for (const ca of list.items as readonly CaRecord[]) {
        items.push(statusJson(await rotationStatus(store.read, ca, now)));
      }
      return ok({ ...list, items });
    },
  });
}

function statusJson(status: RotationStatus) {
  const { predecessor, successor, retireAfter } = status;
  return {
    ca: caJson(status.ca),
    ...(predecessor === undefined ? {} : { predecessor: caJson(predecessor) }),
    ...(successor === undefined ? {} : { successor: caJson(successor) }),
    outstanding_leaves: status.outstanding,
    ...(retireAfter === undefined ? {} : { retire_after: timestamp(retireAfter) }),
    safe_to_retire: status.safeToRetire,
  };
}

function presentCa(ca: CaRecord | undefined): CaRecord {
  assert(ca !== undefined, "an operation on a CA has one");
  return ca;
}

const reasonField = parsed({ type: "string", enum: Object.keys(revocationReasons) }, parseReason);
