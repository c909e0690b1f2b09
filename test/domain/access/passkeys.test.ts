/**
 * Passkeys over time: how old a login may be, how long a challenge lives, how long a confirmation
 * counts.
 */

import { describe, expect, test } from "bun:test";

import { fixedStepUps, type StepUpName, usualStepUps } from "#core/access/step-up.ts";
import { Problem } from "#core/problems.ts";
import { WebAuthn } from "#adapters/webauthn.ts";
import type { Origin } from "#domain/actor.ts";
import { Passkeys } from "#domain/access/passkeys.ts";
import { stepUpGate } from "#domain/access/step-up.ts";
import { accessWorld, visitor } from "#test/support/worlds/access.ts";
import { seededRandom } from "#test/support/ports.ts";
import { SoftAuthenticator } from "#test/support/instances/soft-authenticator.ts";
import { ownPerson } from "#core/access/person.ts";
import { Refusals } from "#domain/access/refusals.ts";
import { somebody } from "#test/support/worlds/governed-world.ts";

const home = { origin: "https://pki.example.com", rpId: "pki.example.com" };

type World = ReturnType<typeof world>;

function world(userVerification: "required" | "preferred" = "required") {
  const { clock, sessions, logins, store } = accessWorld();
  const requireStepUp = stepUpGate({ clock, store }, usualStepUps);
  const passkeys = new Passkeys({
    store,
    clock,
    sessions,
    requireStepUp,
    random: seededRandom("passkeys"),
    refusals: new Refusals({ store, clock }),
    checks: new WebAuthn({
      rp_id: home.rpId,
      origins: [home.origin],
      user_verification: userVerification,
    }),
    stepUpSeconds: 300,
  });
  /** Logs in; what it gives is the caller as the next request would find it. */
  const logIn = async () => {
    const { id, session } = await logins.password("root", "correct", visitor);
    return (): Origin => {
      const live = sessions.find(id) ?? session;
      return { principal: live.principal, session: live, ip: "192.0.2.1", requestId: "r" };
    };
  };
  const register = async (origin: Origin, key: SoftAuthenticator) => {
    const { challenge } = await passkeys.beginRegistration(origin);
    return passkeys.finishRegistration(origin, { name: "k", ...attested(key, challenge) });
  };
  const confirm = async (origin: Origin, key: SoftAuthenticator, flags = 0x05) => {
    const { challenge } = await passkeys.beginStepUp(origin);
    return passkeys.finishStepUp(origin, asserted(key, challenge, flags));
  };
  return { clock, sessions, store, passkeys, requireStepUp, logIn, register, confirm };
}

const attested = (key: SoftAuthenticator, challenge: string) => {
  const { id = "", clientDataJSON = "", attestationObject = "" } = key.attest(challenge);
  return { id, clientDataJson: clientDataJSON, attestationObject };
};

function asserted(key: SoftAuthenticator, challenge: string, flags: number) {
  const answer = key.assert(challenge, { flags });
  const { id = "", clientDataJSON = "", authenticatorData = "", signature = "" } = answer;
  return { id, clientDataJson: clientDataJSON, authenticatorData, signature };
}

/** The refusal, with its facts; undefined when there was none. */
async function problemOf(work: () => Promise<unknown>): Promise<Problem | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

describe("a first passkey", () => {
  test("is given to a login of the last five minutes, begun and ended", async () => {
    const { clock, passkeys, logIn, register } = world();
    const key = new SoftAuthenticator(home);
    const [old, late] = [await logIn(), await logIn()];
    clock.advance(240);
    const { challenge } = await passkeys.beginRegistration(late());
    clock.advance(61);
    const refusal = { code: "fresh_login_required", facts: { max_age_seconds: 300 } };
    expect(await problemOf(() => passkeys.beginRegistration(old()))).toMatchObject(refusal);
    const request = { name: "k", ...attested(key, challenge) };
    expect(await problemOf(() => passkeys.finishRegistration(late(), request))).toMatchObject(
      refusal,
    );
    expect(await register((await logIn())(), key)).toBe(key.id);
  });

  test("is given to one of two sessions that ask at once", async () => {
    const { store, passkeys, logIn } = world();
    const origins = [(await logIn())(), (await logIn())()];
    const requests = await Promise.all(
      origins.map(async (origin) => {
        const { challenge } = await passkeys.beginRegistration(origin);
        return { name: "k", ...attested(new SoftAuthenticator(home), challenge) };
      }),
    );
    const ended = await Promise.allSettled(
      origins.map((origin, at) => {
        const request = requests[at];
        if (request === undefined) throw new Error("one request for each session");
        return passkeys.finishRegistration(origin, request);
      }),
    );
    expect(ended.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await store.read.access.passkeysOf(ownPerson("root"))).toHaveLength(1);
  });
});

test("confirmations that fail again and again are one event", async () => {
  const { store, logIn, register, confirm } = world();
  const caller = await logIn();
  await register(caller(), new SoftAuthenticator(home));
  for (let tries = 0; tries < 6; tries++) {
    const failed = await problemOf(() => confirm(caller(), new SoftAuthenticator(home)));
    expect(failed).toMatchObject({ facts: { reason: "unknown_credential" } });
  }
  const denied = store.listEvents().filter(({ result }) => result === "denied");
  expect(denied.map(({ action }) => action)).toEqual(["auth.step_up_denied"]);
});

const adminOrigin: Origin = {
  principal: somebody("admin", ["admin"]),
  ip: "192.0.2.9",
  requestId: "r",
};

describe("a lost passkey", () => {
  test("is removed by an administrator, with an event each, and then a new one is a first one", async () => {
    const { store, clock, passkeys, logIn, register } = world();
    const admin = {
      principal: somebody("admin", ["admin"]),
      ip: "192.0.2.9",
      requestId: "r",
    };
    expect((await problemOf(() => passkeys.reset(admin, "root")))?.code).toBe("not_found");
    const caller = await logIn();
    await register(caller(), new SoftAuthenticator(home));
    clock.advance(600);
    const again = await logIn();
    expect((await problemOf(() => register(again(), new SoftAuthenticator(home))))?.code).toBe(
      "step_up_required",
    );
    expect(await passkeys.reset(admin, "root")).toBe(1);
    const last = store.listEvents().at(-1);
    expect(last).toMatchObject({
      action: "webauthn.remove",
      actor: "admin",
      detail: "subject=root",
    });
    await register(again(), new SoftAuthenticator(home));
    expect(await passkeys.list(again())).toHaveLength(1);
  });

  test("confirms nothing any more once it was taken away, by an administrator or by its owner, here or elsewhere", async () => {
    const taken = {
      reset: async ({ passkeys }: World) => void (await passkeys.reset(adminOrigin, "root")),
      removed: ({ passkeys }: World, own: Origin, id: string) => passkeys.remove(own, id),
      elsewhere: ({ store }: World, own: Origin, id: string) =>
        store.atomically(async (tx) => {
          await tx.access.removePasskey(id, own.principal.person);
        }),
    };
    for (const take of Object.values(taken)) {
      const made = world();
      const { requireStepUp, logIn, register, confirm } = made;
      const caller = await logIn();
      const other = await logIn();
      const [key, spare] = [new SoftAuthenticator(home), new SoftAuthenticator(home)];
      await register(caller(), key);
      await confirm(caller(), key);
      await register(caller(), spare);
      await confirm(other(), spare);
      const asked = (origin: Origin) => problemOf(() => requireStepUp("cert.revoke", origin));
      expect([await asked(caller()), await asked(other())]).toEqual([undefined, undefined]);
      await take(made, other(), key.id);
      expect((await asked(caller()))?.code).toBe("step_up_required");
      // What another passkey has confirmed ends with that one.
      expect((await asked(other()))?.code).toBe(
        take === taken.reset ? "step_up_required" : undefined,
      );
      const shown = take === taken.elsewhere ? expect.anything() : undefined;
      expect(caller().session?.stepUpUntil).toEqual(shown);
    }
  });

  test("that is registered already is said to be", async () => {
    const { passkeys, logIn, register } = world();
    const caller = await logIn();
    const key = new SoftAuthenticator(home);
    await register(caller(), key);
    await passkeys.beginStepUp(caller());
    const other = { ...caller(), principal: somebody("bob", ["admin"]) };
    const session = caller().session;
    if (session === undefined) throw new Error("a login has a session");
    const bobs = { ...other, session: { ...session, digest: "b", principal: other.principal } };
    const told = await problemOf(() => register(bobs, key));
    expect([told?.code, told?.message, told?.facts]).toEqual([
      "webauthn_failed",
      "This passkey is already registered.",
      { reason: "known_credential" },
    ]);
  });
});

describe("a confirmation", () => {
  test("counts for its minutes, and ends with them", async () => {
    const { clock, requireStepUp, logIn, register, confirm } = world();
    const caller = await logIn();
    const key = new SoftAuthenticator(home);
    await register(caller(), key);
    const asked = (name: StepUpName) => problemOf(async () => requireStepUp(name, caller()));
    expect((await asked("cert.revoke"))?.facts).toEqual({ operation: "cert.revoke" });
    const until = await confirm(caller(), key);
    expect(until - clock.now()).toBe(300_000);
    clock.advance(299);
    expect(await asked("cert.revoke")).toBeUndefined();
    clock.advance(1);
    for (const name of [...usualStepUps, ...fixedStepUps]) {
      expect((await asked(name))?.code).toBe("step_up_required");
    }
    expect(await asked("key.block")).toBeUndefined();
  });

  test("answers a challenge of the last two minutes, the newest one", async () => {
    const { clock, passkeys, logIn, register } = world();
    const caller = await logIn();
    const key = new SoftAuthenticator(home);
    await register(caller(), key);
    const begin = async () => (await passkeys.beginStepUp(caller())).challenge;
    const finish = (challenge: string) =>
      problemOf(() => passkeys.finishStepUp(caller(), asserted(key, challenge, 0x05)));
    const stale = { code: "step_up_failed", facts: { reason: "challenge" } };
    const older = await begin();
    await begin();
    expect(await finish(older)).toMatchObject(stale);
    const late = await begin();
    clock.advance(120);
    expect(await finish(late)).toMatchObject(stale);
    const inTime = await begin();
    clock.advance(119);
    expect(await finish(inTime)).toBeUndefined();
  });

  test("of a session that has ended meanwhile is none", async () => {
    const { sessions, logIn, register, passkeys } = world();
    const caller = await logIn();
    const origin = caller();
    const key = new SoftAuthenticator(home);
    await register(origin, key);
    const { challenge } = await passkeys.beginStepUp(origin);
    sessions.end(origin.session?.digest ?? "");
    const answer = asserted(key, challenge, 0x05);
    expect((await problemOf(() => passkeys.finishStepUp(origin, answer)))?.code).toBe("no_session");
  });

  test("needs the person present, and verified unless that is only preferred", async () => {
    const { logIn, register, confirm } = world("preferred");
    const caller = await logIn();
    const key = new SoftAuthenticator(home);
    await register(caller(), key);
    expect(await confirm(caller(), key, 0x01)).toBeGreaterThan(0);
    const absent = await problemOf(() => confirm(caller(), key, 0x04));
    expect(absent?.facts).toEqual({ reason: "user_verification" });
  });
});

test("one person has twenty passkeys at most", async () => {
  const { store, passkeys, logIn, register, confirm } = world();
  const caller = await logIn();
  const first = new SoftAuthenticator(home);
  await register(caller(), first);
  await confirm(caller(), first);
  for (let number = 2; number <= 20; number++) {
    await register(caller(), new SoftAuthenticator(home, "EdDSA"));
  }
  const more = await problemOf(() => passkeys.beginRegistration(caller()));
  expect(more).toMatchObject({ code: "webauthn_failed", facts: { reason: "too_many" } });
  expect(await store.read.access.passkeysOf(ownPerson("root"))).toHaveLength(20);
});
