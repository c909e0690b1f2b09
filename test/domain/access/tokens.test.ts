/** API tokens: minting, verification, revocation, and what a thief learns from refusals. */

import { beforeEach, expect, test } from "bun:test";

import type { Principal } from "#core/access/principal.ts";
import { defaultTenant, tenantId } from "#core/ids.ts";
import { type Problem, refuse } from "#core/problems.ts";
import { addSeconds, secondsPerDay } from "#core/time.ts";
import type { Origin } from "#domain/actor.ts";
import type { Store } from "#domain/store.ts";
import { ApiTokens, type ApiTokenVerdict, type ApiTokenRequest } from "#domain/access/tokens.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { seededRandom, type TestClock, testClock } from "#test/support/ports.ts";
import { personNamed } from "#test/support/worlds/people.ts";
import { ownPerson } from "#core/access/person.ts";

let store: MemoryStore;
let clock: TestClock;
let verdicts: ApiTokenVerdict[];

beforeEach(() => {
  store = createMemoryStore();
  clock = testClock();
  verdicts = [];
});

test("a minted token verifies as its own subject and acts as its creator's person", async () => {
  const { secret, apiToken } = await tokens().create(origin(root), request());
  const principal = await tokens().verify(secret, "192.0.2.1");
  expect(principal.subject).toBe(`token:${apiToken.id}`);
  expect(principal.person).toEqual(ownPerson("root"));
  expect(principal.tenantRoles).toEqual({ default: ["issuer"] });
  expect(principal.roles).toEqual([]);
});

test("a platform token holds its roles in every tenant", async () => {
  const { secret } = await tokens().create(origin(root), {
    ...request(),
    scope: "platform",
    tenant: undefined,
  });
  const principal = await tokens().verify(secret, "");
  expect(principal.roles).toEqual(["issuer"]);
  expect(principal.tenantRoles).toEqual({});
});

test("the secret carries 256 random bits and only its digest is stored", async () => {
  const { secret } = await tokens().create(origin(root), request());
  expect(secret).toMatch(/^pki_pat_[A-Za-z0-9_-]{43}$/);
  expect(JSON.stringify(store.listRows("tokens"))).not.toContain(secret.slice(20));
});

test("unknown, malformed, expired and revoked tokens are refused alike", async () => {
  const expiring = await tokens().create(origin(root), {
    ...request(),
    expiresAt: addSeconds(clock.now(), 60),
  });
  const revoked = await tokens().create(origin(root), request());
  await tokens().revoke(origin(root), revoked.apiToken.id);
  clock.advance(60);
  const secrets = [expiring.secret, revoked.secret, `pki_pat_${"A".repeat(43)}`, "pki_pat_x", ""];
  for (const secret of secrets) {
    expect(await codeOf(tokens().verify(secret, ""))).toEqual(refusal("invalid_token"));
  }
  expect(verdicts).toEqual(["expired", "revoked", "unknown", "unknown", "unknown"]);
});

test("every token that is refused costs one look-up by its digest, whatever is wrong with it", async () => {
  const { apiToken, secret } = await tokens().create(origin(root), request());
  await tokens().revoke(origin(root), apiToken.id);
  const asked: string[] = [];
  const watched = {
    ...store,
    read: {
      ...store.read,
      access: {
        ...store.read.access,
        apiTokenByHash: (hash: string) => {
          asked.push(hash);
          return store.read.access.apiTokenByHash(hash);
        },
      },
    },
  };
  const presented = [
    secret,
    `pki_pat_${"A".repeat(43)}`,
    "pki_pat_x",
    "",
    "\u00e9",
    "x".repeat(999),
  ];
  for (const one of presented) {
    asked.length = 0;
    await codeOf(tokens(0, watched).verify(one, ""));
    expect([one, asked.map((hash) => hash.length)]).toEqual([one, [64]]);
  }
});

test("a token is good until the millisecond before its expiry", async () => {
  const { secret } = await tokens().create(origin(root), {
    ...request(),
    expiresAt: addSeconds(clock.now(), 1),
  });
  expect((await tokens().verify(secret, "")).name).toBe("deploy");
  clock.advance(1);
  expect(await codeOf(tokens().verify(secret, ""))).toEqual(refusal("invalid_token"));
});

test("a lifetime above the cap is refused and an omitted one becomes the cap", async () => {
  const capped = tokens(30);
  const late = addSeconds(clock.now(), 30 * secondsPerDay + 1);
  expect(await codeOf(capped.create(origin(root), { ...request(), expiresAt: late }))).toEqual(
    refusal("lifetime_exceeded", { max_lifetime_days: 30 }),
  );
  const { apiToken } = await capped.create(origin(root), request());
  expect(apiToken.expiresAt).toBe(addSeconds(clock.now(), 30 * secondsPerDay));
});

test("an expiry that is not in the future is refused", async () => {
  const now = { ...request(), expiresAt: clock.now() };
  expect((await codeOf(tokens().create(origin(root), now))).code).toBe("invalid_field");
});

test("revoking twice changes and records nothing", async () => {
  const { apiToken } = await tokens().create(origin(root), request());
  expect(await tokens().revoke(origin(root), apiToken.id)).toBe(true);
  expect(await tokens().revoke(origin(root), apiToken.id)).toBe(false);
  expect(actions()).toEqual(["token.create", "token.revoke"]);
});

test("a tenant admin revokes only tokens of its tenant, and absent ids look like foreign ones", async () => {
  const { apiToken } = await tokens().create(origin(root), request());
  const stranger = origin(member("other"));
  const foreign = await codeOf(tokens().revoke(stranger, apiToken.id));
  expect(foreign).toEqual(refusal("forbidden", { capability: "token:manage" }));
  expect(await codeOf(tokens().revoke(stranger, "absent"))).toEqual(foreign);
  expect(await tokens().revoke(origin(member("default")), apiToken.id)).toBe(true);
});

test("a token may end itself without token:manage", async () => {
  const { secret, apiToken } = await tokens().create(origin(root), request());
  const itself = origin(await tokens().verify(secret, ""));
  expect(await tokens().revoke(itself, apiToken.id)).toBe(true);
});

test("last use is written at most once a minute", async () => {
  const { secret, apiToken } = await tokens().create(origin(root), request());
  await tokens().verify(secret, "192.0.2.1");
  clock.advance(59);
  await tokens().verify(secret, "192.0.2.2");
  expect((await store.read.access.apiTokenById(apiToken.id))?.lastUsedIp).toBe("192.0.2.1");
  clock.advance(1);
  await tokens().verify(secret, "192.0.2.3");
  expect((await store.read.access.apiTokenById(apiToken.id))?.lastUsedIp).toBe("192.0.2.3");
});

test("when the event cannot be appended no token exists", async () => {
  store.checkWrite = (operation) => {
    if (operation === "audit.appendEvent") throw new Error("disk");
  };
  await expect(tokens().create(origin(root), request())).rejects.toThrow("disk");
  expect(store.countRows("tokens")).toBe(0);
});

function tokens(maxLifetimeDays = 0, over: Store = store): ApiTokens {
  return new ApiTokens({
    store: over,
    clock,
    random: seededRandom(String(store.countRows("tokens"))),
    maxLifetimeDays,
    onVerified: (verdict) => verdicts.push(verdict),
  });
}

function request(): ApiTokenRequest {
  return {
    name: "deploy",
    description: "",
    roles: ["issuer"],
    scope: "tenant",
    tenant: defaultTenant,
    expiresAt: undefined,
  };
}

const root: Principal = {
  subject: "root",
  person: ownPerson("root"),
  name: "root",
  isRoot: true,
  roles: ["admin"],
  tenantRoles: {},
  groups: [],
  mechanism: "basic",
};

function member(tenant: string): Principal {
  const tenantRoles = { [tenantId(tenant)]: ["admin"] as const };
  return {
    ...root,
    subject: tenant,
    person: personNamed(tenant),
    isRoot: false,
    roles: [],
    tenantRoles,
  };
}

const origin = (principal: Principal): Origin => ({ principal, ip: "192.0.2.9", requestId: "r1" });

const actions = () => store.listEvents().map((event) => event.action);

async function codeOf(work: Promise<unknown>) {
  const problem = (await work.then(
    () => refuse("internal"),
    (error: unknown) => error,
  )) as Problem; // Every path under test refuses with a Problem.
  return { code: problem.code, facts: problem.facts };
}

const refusal = (code: string, facts: object = {}) => ({ code, facts }) as never;
