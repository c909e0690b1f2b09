/**
 * What a client's path costs whom: nothing where no name leads anywhere or it was found lately,
 * else a turn of its address.
 */

import { describe, expect, test } from "bun:test";

import { pathsHere } from "#adapters/paths/thread.ts";
import type { Asker } from "#core/fair-queue.ts";
import type { PathAnswer, PathQuestion } from "#core/policy/path-work.ts";
import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { ClientCertificates } from "#domain/access/client-certificates.ts";
import { ClientPaths } from "#domain/access/client-paths.ts";
import { AddressTurns } from "#domain/access/address-turns.ts";
import type { PathWork } from "#domain/ports.ts";
import { type ClientCertificate, OutsideCa } from "#test/support/tls/client-certificates.ts";
import { clientPaths, somewhere } from "#test/support/worlds/client-paths.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";

const at = (text: string) => instant(Date.parse(text));
const inYear = { notBefore: at("2026-01-01T00:00:00Z"), notAfter: at("2027-01-01T00:00:00Z") };
const root = OutsideCa.root("Outside", inYear);
const issuing = root.below("Issuing", inYear);

/** Answers as pathsHere does, and counts. */
function counting() {
  const asked: PathQuestion[] = [];
  const paths: PathWork = {
    ask: (question, asker) => {
      asked.push(question);
      return pathsHere.ask(question, asker);
    },
  };
  return { asked, paths };
}

function clientsOver(paths: ClientPaths, clock = testClock("2026-03-01T00:00:00Z")) {
  const binding = { name: "robots", selectors: { subjectCn: "robot" }, subject: "robot" };
  const trust = {
    anchors: [parseCertificate(root.der)],
    bindings: [{ ...binding, roles: [], tenantRoles: {} }],
  };
  const inForce = { trust };
  const service = new ClientCertificates({
    store: createMemoryStore(),
    clock,
    paths,
    trust: () => inForce.trust,
    log: { write: () => {} },
    onLogin: () => {},
  });
  const subject = async ({ chain }: Pick<ClientCertificate, "chain">, ip = somewhere.ip) =>
    (await service.principal({ chain }, { ip }))?.subject;
  return { subject, service, clock, inForce, trust };
}

describe("a client", () => {
  test("is looked at once, on however many connections it comes with the same certificates", async () => {
    const { asked, paths } = counting();
    const { subject, inForce, trust } = clientsOver(clientPaths(paths));
    const client = issuing.client(inYear);
    for (let n = 0; n < 5; n++) expect(await subject(client)).toBe("robot");
    expect(asked).toHaveLength(1);
    // Others are believed after a reload, so nothing of before counts.
    inForce.trust = { ...trust, anchors: [...trust.anchors] };
    expect(await subject(client)).toBe("robot");
    expect(asked).toHaveLength(2);
  });

  test("is looked at anew when any certificate it shows begins or ends", async () => {
    const { asked, paths } = counting();
    const { subject, clock } = clientsOver(clientPaths(paths));
    const client = issuing.client({ ...inYear, notAfter: at("2026-04-01T00:00:00Z") });
    expect(await subject(client)).toBe("robot");
    clock.at = at("2026-04-01T00:00:00Z");
    expect([await subject(client), asked.length]).toEqual(["robot", 1]);
    clock.at = at("2026-04-01T00:00:01Z");
    expect([await subject(client), asked.length]).toEqual([undefined, 2]);
    // The clock is set back, and what was true then is true again.
    clock.at = at("2026-03-01T00:00:00Z");
    expect(await subject(client)).toBe("robot");
  });

  test("whose requests come together on a new connection is looked at once for all of them", async () => {
    const { asked, paths } = counting();
    const { service } = clientsOver(clientPaths(paths));
    const certificate = { chain: issuing.client(inYear).chain };
    const all = await Promise.all(
      Array.from({ length: 20 }, () => service.principal(certificate, somewhere)),
    );
    expect(all.map((who) => who?.subject)).toEqual(Array(20).fill("robot"));
    expect(asked).toHaveLength(1);
  });

  test("that no name connects with what is trusted is never looked at", async () => {
    const { asked, paths } = counting();
    const { subject } = clientsOver(clientPaths(paths));
    const strange = OutsideCa.root("Elsewhere", inYear).below("Other", inYear);
    for (let n = 0; n < 10; n++) expect(await subject(strange.client(inYear))).toBeUndefined();
    expect(asked).toHaveLength(0);
  });

  test("with a path that leads nowhere is looked at once a connection, however often it asks", async () => {
    const { asked, paths } = counting();
    const { service } = clientsOver(clientPaths(paths));
    const forged = { chain: OutsideCa.root("Outside", inYear).client(inYear).chain };
    for (let n = 0; n < 10; n++) expect(await service.principal(forged, somewhere)).toBeUndefined();
    expect(asked).toHaveLength(1);
  });
});

describe("an answer", () => {
  test("that takes too long lets nobody in, and the next request may ask again", async () => {
    let late = true;
    const slow: PathWork = {
      ask: async <Q extends PathQuestion>(
        question: Q,
        asker: Asker,
      ): Promise<PathAnswer<Q> | undefined> =>
        late ? undefined : await pathsHere.ask(question, asker),
    };
    const { service } = clientsOver(clientPaths(slow));
    const certificate = { chain: issuing.client(inYear).chain };
    await expect(service.principal(certificate, somewhere)).rejects.toMatchObject({
      code: "overloaded",
    });
    late = false;
    expect((await service.principal(certificate, somewhere))?.subject).toBe("robot");
  });
});

describe("an address", () => {
  test("that keeps showing forged paths waits for itself, and nobody else waits for it", async () => {
    let now = 0;
    const sleepers: (() => void)[] = [];
    const turns = new AddressTurns({
      limits: {
        atOnce: 1,
        atOncePerLane: 1,
        waitingPerLane: 8,
        waitingMax: 64,
        failures: { rate: 1, burst: 3 },
      },
      elapsedMs: () => now,
      sleep: () => new Promise<void>((resolve) => sleepers.push(resolve)),
    });
    const { asked, paths } = counting();
    const { subject } = clientsOver(new ClientPaths({ paths, turns }));
    const rogue = OutsideCa.root("Outside", inYear);
    const forged = Array.from({ length: 6 }, () => subject(rogue.client(inYear), "192.0.2.66"));
    expect(await Promise.all(forged.slice(0, 3))).toEqual([undefined, undefined, undefined]);
    expect(asked).toHaveLength(3);
    // The rest of them wait; a neighbour does not.
    expect(await subject(issuing.client(inYear), "192.0.2.7")).toBe("robot");
    expect(asked).toHaveLength(4);
    for (let n = 0; n < 3; n++) {
      now += 1000;
      sleepers.shift()?.();
      await forged[3 + n];
    }
    expect(asked).toHaveLength(7);
  });

  test("has no more than so many waiting, and the rest are refused", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const stuck: PathWork = { ask: () => promise };
    const { service } = clientsOver(clientPaths(stuck));
    const rogue = OutsideCa.root("Outside", inYear).client(inYear);
    const told = Array.from({ length: 140 }, () =>
      service.principal({ chain: rogue.chain }, somewhere).catch((error) => error.code),
    );
    expect(await told.at(-1)).toBe("rate_limited");
    resolve(undefined);
    expect(new Set(await Promise.all(told))).toEqual(new Set(["overloaded", "rate_limited"]));
  });
});
