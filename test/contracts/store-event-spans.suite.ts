/** What a store guarantees about spans of the audit chain, whoever keeps it. */

import { expect, test } from "bun:test";

import { caId, tenantId } from "#core/ids.ts";
import { fits } from "#domain/audit/event-filter.ts";
import type { EventFilter } from "#domain/audit/store.ts";
import type { Store } from "#domain/store.ts";
import { only } from "#test/support/stores/reach.ts";
import * as make from "#test/support/stores/records.ts";

/** The guarantees, as tests of the store `given` holds. */
export function eventSpanContract(given: () => { readonly store: Store }): void {
  test("a span of events is what the filter says of each, oldest first, and its newest begin where they do", async () => {
    const { audit } = given().store.read;
    const [web, lab] = [tenantId(crypto.randomUUID()), tenantId(crypto.randomUUID())];
    const [one, two] = [caId(crypto.randomUUID()), caId(crypto.randomUUID())];
    const { seq: first } = await audit.eventHead();
    await given().store.atomically(async (tx) => {
      for (let n = 0; n < 40; n++) {
        const action = n % 3 === 0 ? "cert.issue" : n % 3 === 1 ? "cert.revoke" : "ca.rotate";
        const draft = {
          action,
          tenant: [web, lab, undefined][n % 5],
          caId: [one, two, undefined][n % 4],
          actor: `actor-${n % 2}`,
          result: n % 7 === 0 ? "denied" : "success",
        } as const;
        await tx.audit.appendEvent(make.draft(draft), make.noon);
      }
    });
    const all = await audit.eventsAfter(first, 40);
    const filters: readonly EventFilter[] = [
      { reach: "platform" },
      { reach: "platform", action: "cert.*", actor: "actor-1" },
      { reach: "platform", action: "ca.rotate", tenant: lab, result: "success" },
      { reach: only([web]) },
      { reach: only([lab], [one]), action: "cert.issue" },
      { reach: only([], [two]) },
      { reach: only([]) },
      { reach: "platform", from: make.noon },
      { reach: "platform", to: make.noon },
    ];
    for (const filter of filters) {
      for (const [after, through] of [
        [first, first + 40],
        [first + 7, first + 31],
        [first + 9, first + 9],
      ] as const) {
        const inside = all.filter(({ seq }) => seq > after && seq <= through);
        const wanted = inside.filter((event) => fits(filter, event));
        for (const most of [1, 4, 100]) {
          const told = await audit.eventsWithin(filter, { after, through }, most);
          expect(told).toEqual(wanted.slice(0, most));
          const before = Math.max(0, wanted.length - most);
          expect(await audit.newestWithin(filter, { after, through }, most)).toEqual({
            after: before === 0 ? after : (wanted[before - 1]?.seq ?? 0),
            before,
          });
        }
      }
      const { items } = await audit.events(filter, 1000);
      const listed = items.filter(({ seq }) => seq > first).toReversed();
      expect(listed).toEqual(all.filter((event) => fits(filter, event)));
    }
  });
}
