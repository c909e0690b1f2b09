/** A probe of a CA: every stage, what it tells when one fails, and what stays behind. */

import { describe, expect, test } from "bun:test";

import { refuse } from "#core/problems.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { CanaryDeps, CanarySections } from "#domain/canary/canary.ts";
import { type Stage, stages } from "#domain/canary/stages.ts";
import type { Store } from "#domain/store.ts";
import { until } from "#test/support/until.ts";
import { canaryWorld } from "#test/support/worlds/canary-world.ts";
import { caRequest, rootOrigin } from "#test/support/worlds/issuance.ts";

const withdrawn = ["revoked cessationOfOperation"];

test("CAN-1: a probe goes through every stage, and its certificate is revoked and on the list", async () => {
  const world = await canaryWorld();
  const [report] = await world.canary.run(rootOrigin);
  expect(report).toMatchObject({ reference: "issuing", result: "success", stage: undefined });
  expect(report?.stages.map(({ stage, result }) => [stage, result])).toEqual(
    stages.map((stage) => [stage, "success"]),
  );
  expect(world.canaries()).toEqual(withdrawn);
  const { subject, sans, profile, requestedBy } = world.store
    .listRows("certificates")
    .find(({ serial }) => serial === report?.serial) ?? { subject: "" };
  expect([subject, sans, profile, requestedBy]).toEqual([
    "CN=pkid-canary",
    ["dns:pkid-canary.invalid"],
    "canary",
    "root",
  ]);
  expect(world.told()).toMatchObject([
    {
      result: "success",
      actor: "root",
      caId: world.issuing.id,
      serial: report?.serial,
      tenant: "default",
      detail: "ca=issuing",
    },
  ]);
  expect([world.failures, world.faults]).toEqual([[], []]);
});

test("CAN-1: a certificate on a partition is looked for where it points", async () => {
  const world = await canaryWorld({ shards: 4, urlBase: "http://crl.example.test" });
  for (let n = 0; n < 3; n++) {
    expect((await world.canary.run(rootOrigin))[0]).toMatchObject({ result: "success" });
  }
});

test("CAN-1: a root, a post-quantum CA and one without delegated responder are probed alike", async () => {
  const world = await canaryWorld({ delegated: false });
  const quantum = caRequest({ label: "quantum", keyType: "ml-dsa-65" });
  await world.authorities.initRoot(rootOrigin, world.root.tenant, quantum);
  world.set({ cas: ["root", "quantum"] });
  const reports = await world.canary.run(rootOrigin);
  expect(reports.map(({ result, reason }) => [result, reason])).toEqual([
    ["success", undefined],
    ["success", undefined],
  ]);
});

test("CAN-1: under another profile the certificate is marked all the same", async () => {
  const world = await canaryWorld();
  world.set({ profile: "client" });
  await world.canary.run(rootOrigin);
  expect(world.canaries()).toEqual(withdrawn);
});

/** What goes wrong, at which stage it shows, and the words for it. */
type Faulty = readonly [
  stage: Stage,
  reason: string,
  instead: (deps: CanaryDeps) => Partial<CanaryDeps>,
];

const throwing = (error: Error) => async () => {
  throw error;
};

const faulty: readonly Faulty[] = [
  ["resolve", "not_found", ({ config }) => ({ config: () => naming("nobody", config()) })],
  [
    "issue",
    "key_unavailable",
    () => ({ issuance: { issue: throwing(refuse("key_unavailable")) } }),
  ],
  [
    "chain",
    "its chain leads to no root",
    ({ issuance }) => ({
      issuance: {
        issue: async (...asked) => ({ ...(await issuance.issue(...asked)), intermediates: [] }),
      },
    }),
  ],
  [
    "ocsp_good",
    "tryLater: the responder gave no answer.",
    ({ ocsp }) => ({
      ocsp: {
        answer: async (...asked) => ({ ...(await ocsp.answer(...asked)), der: tryLater }),
      },
    }),
  ],
  [
    "crl",
    "crl_unavailable",
    ({ publisher }) => ({
      publisher: lists(publisher, { current: throwing(refuse("crl_unavailable")) }),
    }),
  ],
  [
    "crl",
    "the list is of another CA",
    ({ publisher, store }) => ({
      publisher: lists(publisher, {
        current: async () => publisher.current(await named(store, "root")),
      }),
    }),
  ],
  [
    "crl",
    "the list is not signed by the CA",
    ({ publisher }) => ({
      publisher: lists(publisher, { der: async (head) => flipped(await publisher.der(head)) }),
    }),
  ],
  ["revoke", "storage_unavailable", ({ revoker }) => ({ revoker: awayOnce(revoker) })],
  ["ocsp_revoked", "the answer says good", ({ ocsp }) => ({ ocsp: repeating(ocsp) })],
  [
    "delta",
    "the newest list does not name it",
    ({ publisher }) => ({
      publisher: lists(publisher, {
        newest: async (ca, scope) => {
          const { base } = await publisher.newest(ca, scope);
          return { base: base && { ...base, sequence: Infinity }, delta: undefined };
        },
      }),
    }),
  ],
];

describe("a probe in which something is wrong", () => {
  test.each(faulty)("CAN-1: ends at %s (%s), and its certificate is revoked", async (...of) => {
    const [stage, reason, instead] = of;
    const world = await canaryWorld({ instead });
    const [report] = await world.canary.run(rootOrigin);
    expect(report).toMatchObject({ result: "error", stage, reason });
    const last = report?.stages.at(-1);
    expect([last?.stage, last?.result]).toEqual([stage, "error"]);
    expect(world.canaries()).toEqual(report?.serial === undefined ? [] : withdrawn);
    const [event] = world.told();
    expect(event?.detail).toContain(` stage=${stage} reason=`);
    expect(event).toMatchObject({ result: "error", caId: report?.ca?.id ?? "" });
    expect(world.faults).toEqual([]);
  });

  test("CAN-1: a list past its nextUpdate is no list", async () => {
    const world = await canaryWorld({
      instead: ({ publisher, store }) => ({
        publisher: lists(publisher, {
          current: async () => {
            const { base } = await publisher.newest((await named(store, "issuing")).id, "full");
            if (base === undefined) throw new Error("there is a list");
            return base;
          },
        }),
      }),
    });
    await world.publisher.publish(world.issuing, rootOrigin);
    world.clock.advance(30 * 86_400);
    const [report] = await world.canary.run(rootOrigin);
    expect(report).toMatchObject({ stage: "crl", reason: "the list is past its nextUpdate" });
    expect(world.canaries()).toEqual(withdrawn);
  });

  test("CAN-1: what is a bug is told as internal, and to whoever reads the log", async () => {
    const bug = new Error("a bug");
    const world = await canaryWorld({ instead: () => ({ issuance: { issue: throwing(bug) } }) });
    expect((await world.canary.run(rootOrigin))[0]).toMatchObject({ reason: "internal" });
    expect(world.faults).toEqual([bug]);
  });
});

describe("a probe whose time is over", () => {
  test("CAN-1: names the stage that took it, and a certificate that comes later is revoked", async () => {
    const arrived = Promise.withResolvers<void>();
    const world = await canaryWorld({
      instead: ({ issuance }) => ({
        // The second stage is the one nobody waits for any longer.
        patience: impatientAt(2),
        issuance: {
          issue: async (...asked) => {
            await arrived.promise;
            return await issuance.issue(...asked);
          },
        },
      }),
    });
    const [report] = await world.canary.run(rootOrigin);
    expect(report).toMatchObject({ stage: "issue", reason: "timeout", serial: undefined });
    expect(world.canaries()).toEqual([]);
    arrived.resolve();
    await until(() => world.canaries().length > 0 && !world.canaries()[0]?.startsWith("good"));
    expect(world.canaries()).toEqual(withdrawn);
  });

  test("CAN-1: begins no further stage", async () => {
    const world = await canaryWorld({
      instead: ({ issuance }) => ({
        issuance: {
          issue: async (...asked) => {
            world.clock.advance(60);
            return await issuance.issue(...asked);
          },
        },
      }),
    });
    const [report] = await world.canary.run(rootOrigin);
    expect(report).toMatchObject({ stage: "chain", reason: "timeout", milliseconds: 60_000 });
    expect(report?.stages.map(({ milliseconds }) => milliseconds)).toEqual([0, 60_000, 0]);
    expect(world.canaries()).toEqual(withdrawn);
  });

  test("CAN-1: waits no longer for a list that nobody signs", async () => {
    const world = await canaryWorld({
      instead: () => ({
        publishDue: async () => {},
        pause: () => new Promise((resolve) => setImmediate(resolve)),
        patience: impatientAt(8),
      }),
    });
    const [report] = await world.canary.run(rootOrigin);
    expect(report).toMatchObject({ stage: "delta", reason: "timeout" });
    expect(world.canaries()).toEqual(withdrawn);
  });
});

test("a probe that is halted revokes what it issued, and is on record nowhere", async () => {
  const world = await canaryWorld({
    instead: ({ issuance }) => ({
      issuance: {
        issue: async (...asked) => {
          world.canary.halt();
          return await issuance.issue(...asked);
        },
      },
    }),
  });
  expect(await world.canary.run(rootOrigin)).toEqual([]);
  expect([world.canaries(), world.told()]).toEqual([withdrawn, []]);
});

const naming = (reference: string, { canary }: CanarySections): CanarySections => ({
  canary: { ...canary, cas: [reference] },
});

type Lists = CanaryDeps["publisher"];
const lists = (of: Lists, instead: Partial<Lists>): Lists => ({
  current: (...asked) => of.current(...asked),
  newest: (...asked) => of.newest(...asked),
  der: (...asked) => of.der(...asked),
  ...instead,
});

async function named({ read }: Pick<Store, "read">, label: string): Promise<CaRecord> {
  const ca = await read.cas.byLabel(label);
  if (ca === undefined) throw new Error(`there is no ${label}`);
  return ca;
}

/** OCSPResponse of the status alone (RFC 6960 §4.2.1). */
const tryLater = Uint8Array.of(0x30, 3, 0x0a, 1, 3);

/** The last octet is of the signature. */
const flipped = (der: Uint8Array): Uint8Array =>
  der.map((octet, at) => (at === der.length - 1 ? octet ^ 1 : octet));

function awayOnce(revoker: CanaryDeps["revoker"]): CanaryDeps["revoker"] {
  let asked = 0;
  return {
    revoke: async (...of) => {
      asked += 1;
      if (asked === 1) throw refuse("storage_unavailable");
      return await revoker.revoke(...of);
    },
  };
}

/** As a cache that no revocation reaches. */
function repeating(ocsp: CanaryDeps["ocsp"]): CanaryDeps["ocsp"] {
  let first: ReturnType<CanaryDeps["ocsp"]["answer"]> | undefined;
  return {
    answer: (...asked) => {
      first ??= ocsp.answer(...asked);
      return first;
    },
  };
}

/** Waits for all stages but one, whose work goes on behind its back. */
function impatientAt(stage: number): CanaryDeps["patience"] {
  let begun = 0;
  return {
    within: async (_seconds, work) => {
      begun += 1;
      if (begun !== stage) return await work;
      return undefined;
    },
  };
}
