/** Key rollover in JSON: rotate, retire, and how far it has come. */

import { parkedOnCa } from "./parking.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  type Input,
  integer,
  optional,
  otherwise,
  shape,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { anyScope, theCa } from "#domain/access/targets.ts";
import { chainBundle } from "#domain/authorities/bundle.ts";
import type { Authorities } from "#domain/hierarchy/create.ts";
import type { Retirement } from "#domain/hierarchy/retire.ts";
import {
  type RotationStatus,
  oldestSuperseded,
  rotatable,
  rotationStatus,
} from "#domain/hierarchy/rollover.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { caJson, caShape } from "./authorities.ts";
import { keyTypeField, labelField } from "./ca-fields.ts";
import { reasonField } from "./fields.ts";
import { listOf, pageFields, pageOf } from "./pages.ts";
import { count, pemText, serialText, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly authorities: Pick<Authorities, "rotate" | "admitRotation">;
  readonly retirement: Retirement;
}

/** What signing a CRL before answering may meet. */
const publishing = ["key_unavailable", "crl_unavailable"] as const;

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
  const { store, clock, retirement } = deps;
  return {
    "ca.rotations": rotations(deps),
    "ca.rotation": operation({
      summary: "How far the rollover of a CA has come.",
      target: theCa,
      output: statusShape,
      run: async (call) => statusJson(await rotationStatus(store.read, call.ca, clock.now())),
    }),
    "ca.rotate": rotate(deps),
    "ca.retire": guarded({
      summary: "Revoke the oldest superseded key of a CA and publish it.",
      target: theCa,
      input: {
        reason: otherwise(reasonField, "cessationOfOperation"),
        force: otherwise(flag(), false),
      },
      output: retiredShape,
      refuses: ["ca_not_superseded", "leaves_outstanding", ...publishing],
      parks: ({ ca, input }, said) =>
        parkedOnCa(ca, "Revoke the oldest superseded key of", said, async () => {
          await retirement.admit(ca, input);
          const old = await oldestSuperseded(store.read.cas, ca);
          if (old === undefined) throw refuse("ca_not_superseded", { status: ca.status });
        }),
      run: async (call) => {
        const retired = await retirement.retire(call.origin, call.ca, call.input);
        return {
          retired_ca: caJson(retired.ca),
          parent_id: retired.parent.id,
          revoked_serial: retired.serial,
          crl_number: retired.crlNumber,
          outstanding_leaves: retired.outstanding,
        };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function rotate({ store, authorities }: Deps) {
  return guarded({
    summary: "Give a CA a new key under the same name; the old one stops issuing.",
    target: theCa,
    input: rotationFields,
    output: rotatedShape,
    refuses: [
      "key_type_unsupported",
      "gate_refused",
      "validity_exceeds_limit",
      "ca_constraint",
      "not_rotatable",
      "already_exists",
      "ca_not_active",
      "not_supported",
    ],
    parks: ({ ca, origin, input }, said) =>
      parkedOnCa(ca, "Give a new key to", said, async () => {
        await authorities.admitRotation(origin, ca, rotationOf(input));
        await rotatable(store.read.cas, ca);
      }),
    run: async ({ ca, origin, input }) => {
      const request = rotationOf(input);
      const { old, successor } = await authorities.rotate(origin, ca, request);
      const { retireAfter } = old;
      return made(
        {
          old_ca: caJson(old),
          new_ca: caJson(successor),
          combined_chain_pem: await chainBundle(store.read.cas, successor),
          ...(retireAfter === undefined ? {} : { retire_after: timestamp(retireAfter) }),
        },
        `/api/ca/${successor.id}`,
      );
    },
  });
}

const rotatedShape = shape({
  old_ca: caShape,
  new_ca: caShape,
  combined_chain_pem: pemText,
  retire_after: optional(time),
});
const retiredShape = shape({
  retired_ca: caShape,
  parent_id: words(),
  revoked_serial: serialText,
  crl_number: count,
  outstanding_leaves: count,
});

/** Superseded CAs, whose rollover is not over, one row each. */
function rotations({ store, clock }: Deps) {
  return operation({
    summary: "Rollovers that are not over: superseded CAs, newest first.",
    target: anyScope,
    input: pageFields,
    output: listOf(statusShape),
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
      const items: ReturnType<typeof statusJson>[] = [];
      for (const ca of list.items) {
        items.push(statusJson(await rotationStatus(store.read, ca, now)));
      }
      return { ...list, items };
    },
  });
}

const statusShape = shape({
  ca: caShape,
  predecessor: optional(caShape),
  successor: optional(caShape),
  outstanding_leaves: count,
  retire_after: optional(time),
  safe_to_retire: flag(),
});

function statusJson(status: RotationStatus): ValueOf<typeof statusShape> {
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
