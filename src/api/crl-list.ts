/** What each CA publishes in JSON: its newest complete list and its OCSP responder. */

import { flag, optional, shape, text, type ValueOf, words } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope } from "#domain/access/targets.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { CrlPublisher } from "#domain/revocation/crl.ts";
import { lastSweepOf } from "#domain/revocation/presign.ts";
import { fullScope } from "#domain/revocation/scopes.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { baseShape, deltaJson, deltaShape, listJson } from "./crls.ts";
import { listMembers, pageFields, pageOf, readableTenant } from "./pages.ts";
import { count, present, serialText, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
  readonly publisher: Pick<CrlPublisher, "newest">;
  /** `presign.enabled`. */
  readonly presigns: boolean;
}

/** Handler for `crl.list`. */
export function crlListHandlers(deps: Deps) {
  const { store } = deps;
  return {
    "crl.list": operation({
      summary: "What each CA the caller may read publishes: newest CRL, delta and OCSP responder.",
      target: anyScope,
      input: { tenant: optional(text({ max: 64 })), ...pageFields },
      output: shape({
        ...listMembers(publishedShape),
        presigned: presignedShape,
      }),
      run: async (call) => {
        const tenant = await readableTenant(store, call.input.tenant, call.reach);
        const filter = { reach: call.reach, tenant };
        const page = await pageOf("crl.list", call, filter, sameJson, async (limit, after) => {
          const cas = await store.read.cas.page(filter, limit, after);
          const items: PublishedJson[] = [];
          for (const ca of cas.items) items.push(await publishedJson(deps, ca));
          return { ...cas, items };
        });
        return { ...page, presigned: await presignedJson(deps) };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const publishedShape = shape({
  ca_id: words(),
  ca_label: words(),
  tenant_id: words(),
  ca_status: words(),
  base: baseShape,
  delta: deltaShape,
  /** Left out before its first answer, and where the CA key signs the answers itself. */
  responder: optional(shape({ serial: serialText, not_before: time, not_after: time })),
});

type PublishedJson = ValueOf<typeof publishedShape>;

/** A page renders what it has loaded already. */
const sameJson = (one: PublishedJson): PublishedJson => one;

/** Answers signed ahead, of the whole instance. */
const presignedShape = shape({
  enabled: flag(),
  answers: count,
  swept_at: optional(time),
  /** False where the last sweep could not sign everything. */
  complete: optional(flag()),
});

async function publishedJson(
  { store, clock, publisher }: Deps,
  ca: CaRecord,
): Promise<PublishedJson> {
  const { base, delta } = await publisher.newest(ca.id, fullScope);
  const responder = await store.read.revocations.responder(ca.id);
  return present({
    ca_id: ca.id,
    ca_label: ca.label,
    tenant_id: ca.tenant,
    ca_status: ca.status,
    base: listJson(base, clock),
    delta: deltaJson(delta, clock),
    responder: responder && {
      serial: responder.serial,
      not_before: timestamp(responder.notBefore),
      not_after: timestamp(responder.notAfter),
    },
  });
}

async function presignedJson({ store, presigns }: Deps) {
  if (!presigns) return { enabled: false, answers: 0 };
  const sweep = await lastSweepOf(store);
  const { count: answers } = await store.read.presigned.summary();
  const swept = sweep && {
    swept_at: timestamp(sweep.at),
    complete: sweep.succeeded,
  };
  return { enabled: true, answers, ...swept };
}
