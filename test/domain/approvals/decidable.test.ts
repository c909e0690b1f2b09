/** What waits for somebody's decision is listed by the rule that the decision itself follows. */

import { beforeEach, describe, expect, test } from "bun:test";

import { plainPerson } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import { refusal, somebody } from "#test/support/worlds/governed-world.ts";
import { personNamed } from "#test/support/worlds/people.ts";
import {
  alice,
  bob,
  carol,
  type FourEyesWorld,
  fourEyesWorld,
  robert,
  rootBody,
  shell,
} from "#test/support/worlds/four-eyes-world.ts";

let world: FourEyesWorld;
/** More than there are, so that nothing is executed and everybody can decide. */
const required = 20;
const others = Array.from({ length: required }, (_, at) => `other-${at}`);
const operators = {
  "ca.create": ["alice", "bob", "local", "web-approver", "carol@x.test"].concat(others),
};
beforeEach(async () => {
  world = await fourEyesWorld({ default_threshold: required, operators });
});

const park = async (who: Principal, label: string, tenant?: string): Promise<string> => {
  const body = { ...rootBody(label), ...(tenant && { tenant_id: tenant }) };
  return (await world.ask("ca.init_root", who, { body })).approval_id;
};
/** Of a class without operators, and of no tenant. */
const parkKek = async (who: Principal): Promise<string> =>
  (await world.ask("kek.rotate", who, { body: {} })).approval_id;
const decidable = (who: Principal, query: Readonly<Record<string, string>> = {}) =>
  world.ask("approval.list", who, { query: { decidable: "true", ...query } });
const idsOf = async (who: Principal, query?: Readonly<Record<string, string>>) => {
  const { items, total } = await decidable(who, query);
  expect(total).toBe(items.length);
  return items.map(({ id }: { id: string }) => id);
};
const decide = (who: Principal, id: string, decision: "approve" | "reject") =>
  world.ask(`approval.${decision}`, who, { path: { id }, body: { comment: "so" } });

const people: Readonly<Record<string, Principal>> = {
  alice,
  bob,
  robert,
  carol,
  shell,
  "carol by her address": somebody("c", ["approver"], {
    person: personNamed("c", "carol@x.test"),
  }),
  "alice of a directory": somebody("alice", ["admin"], { person: plainPerson("ldap", "alice") }),
  "an approver of web": somebody("web-approver", { web: ["approver"] }),
  "a listed auditor": somebody("other-1", ["auditor"]),
  "a listed approver": somebody("other-2", ["approver"]),
  "a stranger": somebody("stranger", []),
};

describe("what waits for a decision", () => {
  test("is for everybody exactly what their approval is taken for, and nothing once they gave it", async () => {
    const ids = [
      await park(alice, "hers"),
      await park(alice, "hers-in-web", "web"),
      await park(bob, "his"),
      await park(shell, "of-the-shell", "web"),
      await parkKek(alice),
      await parkKek(bob),
    ];
    const rejected = await park(alice, "rejected");
    await decide(bob, rejected, "reject");
    let listed = 0;
    for (const [name, who] of Object.entries(people)) {
      const before = await idsOf(who);
      const taken: string[] = [];
      for (const id of [...ids, rejected]) {
        const { code } = await refusal(world.approve(who, id));
        if (code === "accepted") taken.push(id);
      }
      expect([name, before.toSorted()]).toEqual([name, taken.toSorted()]);
      expect([name, await idsOf(who)]).toEqual([name, []]);
      listed += before.length;
    }
    expect(listed).toBeGreaterThan(15);
  });

  test("is not one's own, nor another tenant's, nor what was decided, nor for others alone", async () => {
    const [hers, inWeb] = [await park(alice, "hers"), await park(shell, "of-web", "web")];
    const kek = await parkKek(alice);
    const approver = people["an approver of web"] ?? alice;
    expect(await idsOf(alice)).toEqual([inWeb]);
    expect(await idsOf(approver)).toEqual([inWeb]);
    expect(await idsOf(bob)).toEqual(expect.arrayContaining([hers, inWeb, kek]));
    // She is not among the operators of the class, and the other class has none.
    expect(await idsOf(carol)).toEqual([kek]);
    await world.approve(bob, hers);
    expect((await idsOf(bob)).toSorted()).toEqual([inWeb, kek].toSorted());
    // Bob's other name is the same person.
    expect(await idsOf(robert)).not.toContain(hers);
    expect(await idsOf(bob, { mine: "true" })).toEqual([]);
    expect(await idsOf(bob, { status: "rejected" })).toEqual([]);
    expect(await idsOf(bob, { class: "kek.rotate" })).toEqual([kek]);
    expect(await idsOf(bob, { tenant: "web" })).toEqual([inWeb]);
  });

  test("is over when its time is, sweep or no sweep", async () => {
    const id = await park(alice, "hers");
    world.clock.advance(72 * 3600 - 1);
    expect(await idsOf(bob)).toEqual([id]);
    world.clock.advance(1);
    expect(await idsOf(bob)).toEqual([]);
    expect((await refusal(world.approve(bob, id))).code).toBe("approval_expired");
  });

  test("is counted beyond a page, and walked by cursors that other filters refuse", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 103; at++) ids.push(await park(alice, `root-${at}`));
    await park(bob, "his-own");
    const first = await decidable(bob, { limit: "1" });
    expect(first).toMatchObject({ total: 103, has_more: true });
    const seen: string[] = [];
    let cursor: string | undefined;
    for (;;) {
      const page = await decidable(bob, { limit: "50", ...(cursor && { cursor }) });
      expect(page.total).toBe(103);
      seen.push(...page.items.map(({ id }: { id: string }) => id));
      cursor = page.next_cursor;
      if (!page.has_more) break;
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
    const query = { limit: "1", cursor: first.next_cursor };
    const all = await refusal(world.ask("approval.list", bob, { query }));
    expect(all.code).toBe("bad_cursor");
  });
});
