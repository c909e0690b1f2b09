/** Whether preflight tells a directory that clients reach from one that they do not. */

import { beforeEach, expect, test } from "bun:test";

import { caId } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { directoriesAnswer, directoriesReady } from "#domain/preflight/acme.ts";
import { keyFault } from "#domain/preflight/keys.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { KeyHandle } from "#domain/keys.ts";
import { refuse } from "#core/problems.ts";
import type { Fetched } from "#domain/preflight/outside.ts";
import { ca } from "#test/support/stores/records.ts";
import { type BindingWorld, bindingWorld } from "#test/support/worlds/binding.ts";

let world: BindingWorld;
/** What answers, by address; anything else is not reached. */
let answers: Map<string, Fetched>;
beforeEach(async () => {
  world = await bindingWorld();
  answers = new Map(
    world.directories.all().map(({ url }) => [url("/directory"), answer(documentAt(url))]),
  );
});

const documentAt = (url: (rest: string) => string) => ({
  newNonce: url("/new-nonce"),
  newAccount: url("/new-account"),
  newOrder: url("/new-order"),
  revokeCert: url("/revoke-cert"),
  keyChange: url("/key-change"),
  renewalInfo: url("/renewal-info"),
});
const answer = (document: unknown, status = 200): Fetched => ({
  answered: true,
  status,
  octets: new TextEncoder().encode(JSON.stringify(document)),
  elapsedMs: 1,
});
const lab = "https://pki.test/acme-lab/directory";

const looked = () =>
  directoriesAnswer({
    directories: world.directories,
    timeoutSeconds: 1,
    outside: {
      ask: async (url) => answers.get(url) ?? { answered: false, why: "nobody listens there" },
    },
  });
const ready = (
  profiles: Pick<ProfileSet, "has" | "named"> = new ProfileSet(),
  fault: (ca: CaRecord) => Promise<string | undefined> = async () => undefined,
) => directoriesReady({ ...world, profiles, keyFault: fault });
const off = () => {
  world.current.acme = { ...world.current.acme, enabled: false };
};

test("every directory that answers with its own addresses passes, and none is asked while ACME is off", async () => {
  expect(await looked()).toEqual({
    status: "pass",
    detail: `https://pki.test/acme/directory, ${lab}: what answers there is this instance.`,
  });
  off();
  expect((await looked()).status).toBe("skip");
});

test("one that is not reached, answers otherwise, or is another instance's fails and is named", async () => {
  answers.delete(lab);
  expect(await looked()).toEqual({ status: "fail", detail: `${lab}: nobody listens there.` });
  answers.set(lab, answer({}, 502));
  expect((await looked()).detail).toBe(`${lab} answers 502.`);
  answers.set(lab, answer(documentAt((rest) => `https://inner:8443/acme-lab${rest}`)));
  expect((await looked()).detail).toBe(`${lab}: its newNonce lies elsewhere.`);
  answers.set(lab, answer("hello"));
  expect((await looked()).detail).toBe(`${lab}: it is no ACME directory.`);
});

test("a directory is ready with a CA that issues, or that has a successor which does", async () => {
  expect(await ready()).toEqual({ status: "pass", detail: "ACME: default, lab." });
  await world.store.atomically(async (tx) => {
    await tx.cas.insert(ca({ id: caId("i2"), label: "issuing-r2", lineage: caId("i1") }));
    await tx.cas.supersede(caId("i1"), caId("i2"), undefined);
  });
  expect((await ready()).status).toBe("pass");
  off();
  expect((await ready()).status).toBe("skip");
});

test("a CA that is missing, another tenant's, pending or retired fails in words", async () => {
  const { acme } = world.current;
  const told = async (label: string) => {
    world.current.acme = { ...acme, ca_label: label, directories: {} };
    return await ready();
  };
  await world.store.atomically(async (tx) => {
    await tx.cas.insert(ca({ label: "soon", status: "pending" }));
    await tx.cas.insert(ca({ label: "old", status: "retired" }));
  });
  const said = "ACME directory default: the CA";
  expect(await told("none")).toEqual({ status: "fail", detail: `${said} none does not exist.` });
  expect((await told("soon")).detail).toBe(`${said} soon has no certificate yet.`);
  expect((await told("old")).detail).toBe(`${said} old is retired, and has no successor.`);
  const { lab: labSection } = acme.directories;
  if (labSection === undefined) throw new Error("configured by the world");
  const foreign = { lab: { ...labSection, ca_label: "issuing" } };
  world.current.acme = { ...acme, directories: foreign };
  expect((await ready()).detail).toBe(
    "ACME directory lab: the CA issuing does not exist, or is not of the tenant lab.",
  );
});

test("a directory whose CA cannot use its key is not ready, and says why", async () => {
  const labels: string[] = [];
  const away = async ({ label }: CaRecord) => {
    labels.push(label);
    return label === "issuing" ? "The key is not available (key_unavailable)" : undefined;
  };
  const found = await ready(new ProfileSet(), away);
  expect(found).toEqual({
    status: "fail",
    detail:
      "ACME directory default: the CA issuing cannot sign: The key is not available (key_unavailable).",
  });
  expect(labels).toHaveLength(2);
});

test("the key is looked for in its provider, and held against the record", async () => {
  const spki = new Uint8Array([1]);
  const record = { ...ca({ label: "keyed" }), spki };
  const find = (handle: () => Promise<KeyHandle>) => keyFault({ open: { find: handle } }, record);
  const handle = (octets: Uint8Array): KeyHandle => ({
    ref: record.key,
    keyType: record.keyType,
    spki: octets,
    deviceSerial: "",
  });
  expect(await find(async () => handle(spki))).toBeUndefined();
  expect(await find(async () => handle(new Uint8Array([2])))).toContain("another key");
  const refused = find(async () => {
    throw refuse("key_unavailable");
  });
  expect(await refused).toContain("(key_unavailable)");
  expect(await keyFault({ fault: "The PIN is wrong." }, record)).toBe("The PIN is wrong");
});

test("a profile that is not there fails", async () => {
  const none = { has: () => false, named: () => new ProfileSet().named("server") };
  expect((await ready(none)).detail).toContain("the profile server does not exist");
});

test("APR-1: a profile that people need approval for is open to whoever enrols, which warns", async () => {
  const server = new ProfileSet().named("server");
  const found = await ready(new ProfileSet([{ ...server, requireApproval: true }]));
  expect(found.status).toBe("warn");
  expect(found.detail).toContain("directory default issues under the profile server without");
});
