/** External account binding: what holds, and that nobody learns why what does not hold does not. */

import { beforeEach, describe, expect, test } from "bun:test";

import { CompactSign, FlattenedSign } from "jose";

import type { Problem } from "#core/problems.ts";
import { addSeconds } from "#core/time.ts";
import type { Bound } from "#domain/acme/bindings.ts";
import type { Credential, CredentialRequest } from "#domain/acme/credentials.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import {
  account,
  accountJwk,
  accountKey,
  bindingOf,
  type BindingWorld,
  bindingWorld,
  newAccountUrl,
} from "#test/support/worlds/binding.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";

const file = Buffer.alloc(32, 9);

let world: BindingWorld;
beforeEach(async () => {
  world = await bindingWorld({ configured: { "by-file": file } });
});

const made = async (facts: Partial<CredentialRequest> = {}, directory = "default") =>
  await world.credentials.create(rootOrigin, await world.request(facts, directory));

const verify = (binding: unknown, directory = "default") =>
  world.bindings.verify(binding, {
    directory: world.directory(directory),
    jwk: accountKey,
    url: directory === "default" ? newAccountUrl : world.directory(directory).url("/new-account"),
    now: world.clock.now(),
  });

/** What `verify` gives for a credential of the database, as far as a use of it matters. */
const use = (eabId: string): Bound => ({
  eabId,
  counted: true,
  profile: undefined,
  policy: { dnsSuffixes: [], ipRanges: [], allowWildcards: false, anyIdentifier: false },
});

const refused = { reason: "the external account binding does not hold" };

describe("EAB-2: a binding holds", () => {
  test.each(["HS256", "HS384", "HS512"] as const)("made with %s", async (algorithm) => {
    const { credential, hmacKey } = await made();
    expect(await verify(bindingOf(credential.id, hmacKey, { algorithm }))).toMatchObject({
      eabId: credential.id,
      profile: undefined,
      policy: { dnsSuffixes: ["example.test"], ipRanges: [], allowWildcards: false },
    });
  });

  test("made by a library that others wrote", async () => {
    const { credential, hmacKey } = await made({ profile: "client" });
    const binding = await new FlattenedSign(Buffer.from(JSON.stringify(accountJwk)))
      .setProtectedHeader({ alg: "HS256", kid: credential.id, url: newAccountUrl })
      .sign(Buffer.from(hmacKey, "base64url"));
    const { eabId, profile } = await verify(binding);
    expect([eabId, profile]).toEqual([credential.id, "client"]);
  });

  test("made with a key of the configuration, without limits, in the first directory alone", async () => {
    const binding = bindingOf("by-file", file.toString("base64url"));
    expect(await verify(binding)).toMatchObject({
      eabId: "by-file",
      profile: undefined,
      policy: { anyIdentifier: true, allowWildcards: true },
    });
    const { url } = world.directory("lab");
    const elsewhere = bindingOf("by-file", file.toString("base64url"), {
      url: url("/new-account"),
    });
    await expectRefusal(verify(elsewhere, "lab"), "acme_unauthorized", refused);
  });
});

describe("EAB-2, P-9: whatever keeps a binding from holding", () => {
  /** What went wrong, and the binding that a client then sends. */
  const wrong: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["an unknown kid", async () => bindingOf(`eab_${"A".repeat(22)}`, "c2VjcmV0")],
    ["a kid of no form", async () => bindingOf("../../instance/value/root", "c2VjcmV0")],
    ["a wrong MAC", async () => bindingOf((await made()).credential.id, "c2VjcmV0")],
    ["a wrong MAC of a key of the configuration", async () => bindingOf("by-file", "c2VjcmV0")],
    ["a MAC that was cut", async () => cut(await made())],
    ["a revoked credential", async () => after(await made(), revoke)],
    ["an expired credential", async () => expired()],
    ["an exhausted credential", async () => after(await made(), exhaust)],
    ["a credential of another directory", async () => of(await made({}, "lab"))],
    ["a credential of a tenant whose CA the directory has no more", async () => foreign()],
  ];

  test("is one refusal, to the last fact, after the same work", async () => {
    for (const [what, binding] of wrong) {
      const sent = await binding();
      world.opened.length = 0;
      const error = (await verify(sent).catch((reason: unknown) => reason)) as Problem; // Expected.
      expect([what, error.code, error.facts, error.message]).toEqual([
        what,
        "acme_unauthorized",
        refused,
        "The account may not do this.",
      ]);
      // The dearest step: an envelope is opened, whether or not there is one to the kid.
      expect([what, world.opened]).toEqual([what, [true]]);
    }
  });

  test("costs one envelope as a binding that holds does", async () => {
    const binding = of(await made());
    await verify(binding);
    world.opened.length = 0;
    await verify(binding);
    expect(world.opened).toEqual([true]);
  });

  test("still does when the key that seals has been rotated since", async () => {
    const unknown = () => verify(bindingOf(`eab_${"A".repeat(22)}`, "c2VjcmV0"));
    await expectRefusal(unknown(), "acme_unauthorized", refused);
    await world.rotation.rotate(rootOrigin);
    await expectRefusal(unknown(), "acme_unauthorized", refused);
  });

  const of = ({ credential, hmacKey }: Made) => bindingOf(credential.id, hmacKey);
  const after = async (credential: Made, end: (one: Credential) => Promise<unknown>) => {
    await end(credential.credential);
    return of(credential);
  };
  const cut = (one: Made) => {
    const binding = of(one);
    return { ...binding, signature: binding.signature.slice(0, 40) };
  };
  const revoke = (one: Credential) => world.credentials.revoke(rootOrigin, one);
  const exhaust = ({ id }: Credential) =>
    world.store.atomically((tx) => world.bindings.take(tx, use(id), world.clock.now()));
  const expired = async () => {
    const one = await made({ expiresAt: addSeconds(world.clock.now(), 60) });
    await verify(of(one));
    world.clock.advance(60);
    return of(one);
  };
  const foreign = async () => {
    const one = await made();
    const { acme } = world.current;
    world.current.acme = { ...acme, ca_label: "lab-issuing" };
    return of(one);
  };
});

type Made = Awaited<ReturnType<typeof made>>;

describe("EAB-2: what is no binding is told what it lacks", () => {
  test("whoever sends it, and whatever kid it names", async () => {
    const other = { ...accountJwk, x: "AAAAAAKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
    const kid = `eab_${"A".repeat(22)}`;
    const malformed = [
      bindingOf(kid, "c2VjcmV0", { url: "https://pki.test/acme-lab/new-account" }),
      bindingOf(kid, "c2VjcmV0", { jwk: other }),
      bindingOf(kid, "c2VjcmV0", { header: { nonce: "n" } }),
      bindingOf(kid, "c2VjcmV0", { header: { alg: "none" } }),
      await new CompactSign(Buffer.from(JSON.stringify(accountJwk)))
        .setProtectedHeader({ alg: "HS256", kid, url: newAccountUrl })
        .sign(file),
      {},
      null,
    ];
    for (const binding of malformed) await expectRefusal(verify(binding), "acme_malformed", {});
    expect(world.opened).toEqual([]);
  });
});

describe("EAB-2: a use", () => {
  const take = (id: string) =>
    world.store.atomically((tx) => world.bindings.take(tx, use(id), world.clock.now()));

  test("is taken with the account, so that of two at a time one comes too late", async () => {
    const { credential } = await made({ maxUses: 1 });
    const results = await Promise.allSettled([take(credential.id), take(credential.id)]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expectRefusal(take(credential.id), "acme_unauthorized", refused);
    const used = await world.credentials.named(credential.id);
    expect(used).toMatchObject({ uses: 1, lastUsedAt: world.clock.now() });
  });

  test("is not taken when the account is not made", async () => {
    const { credential } = await made();
    const failing = world.store.atomically(async (tx) => {
      await world.bindings.take(tx, use(credential.id), world.clock.now());
      throw new Error("the account could not be stored");
    });
    await expect(failing).rejects.toThrow("could not be stored");
    expect((await world.credentials.named(credential.id))?.uses).toBe(0);
  });

  test("without end is never the last, and keys of the configuration have no end", async () => {
    const { credential } = await made({ maxUses: 0 });
    for (let at = 0; at < 5; at++) await take(credential.id);
    const { counted } = await verify(bindingOf("by-file", file.toString("base64url")));
    expect(counted).toBe(false);
    const bound = { ...use("by-file"), counted };
    const { clock, store, bindings } = world;
    for (let at = 0; at < 5; at++) {
      await store.atomically((tx) => bindings.take(tx, bound, clock.now()));
    }
    expect((await world.credentials.named(credential.id))?.uses).toBe(5);
  });

  test("of a credential that has ended since it was looked at is refused", async () => {
    const { credential } = await made();
    await world.credentials.revoke(rootOrigin, credential);
    await expectRefusal(take(credential.id), "acme_unauthorized", refused);
  });
});

describe("EAB-3: limits of an account", () => {
  const limitsOf = (eabId: string | undefined) => world.bindings.limitsOf(account({ eabId }));

  test("are those of its credential, also once that binds no more", async () => {
    const { credential } = await made({
      dnsSuffixes: ["a.test"],
      ipRanges: ["10.0.0.0/8"],
      allowWildcards: true,
      profile: "client",
      expiresAt: addSeconds(world.clock.now(), 60),
    });
    world.clock.advance(3600);
    expect(await limitsOf(credential.id)).toEqual({
      profile: "client",
      policy: {
        dnsSuffixes: ["a.test"],
        ipRanges: ["10.0.0.0/8"],
        allowWildcards: true,
        anyIdentifier: false,
      },
    });
  });

  test("are none without a binding", async () => {
    expect(await limitsOf(undefined)).toBeUndefined();
  });

  test("permit everything by a key of the configuration, while it is there", async () => {
    expect(await limitsOf("by-file")).toMatchObject({ policy: { anyIdentifier: true } });
    await expectRefusal(limitsOf("gone-from-file"), "acme_unauthorized", {});
  });

  test("permit nothing once the credential is revoked", async () => {
    const { credential } = await made();
    await world.credentials.revoke(rootOrigin, credential);
    await expectRefusal(limitsOf(credential.id), "acme_unauthorized", {
      reason: "the credential of the account is revoked",
    });
  });
});
