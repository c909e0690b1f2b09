/** When clients are told to renew, and what replaces what (ARI-1 to ARI-4, ORD-4; RFC 9773). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type AcmeClient, type Answer, bodyOf, refusalOf } from "#test/support/acme/client.ts";
import { type CertificateFacts, newCsr } from "#test/support/acme/csr.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { command } from "#test/support/instances/first-certificate.ts";

const page = "https://ca.example.net/why";
const ca = "issuing-ecdsa-p256";
let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start({
    acme: {
      renewal_explanation_url: page,
      profiles: { hours: { description: "For some hours.", profile: "canary" } },
    },
  });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

const obtain = (names = [world.name()], more: object = {}, one = client) =>
  one.obtain(names, world.show, { more });

/** The window in milliseconds, with the seconds after which to ask again. */
function windowOf(answer: Answer) {
  const { suggestedWindow } = bodyOf<{ suggestedWindow: { start: string; end: string } }>(answer);
  return {
    start: Date.parse(suggestedWindow.start),
    end: Date.parse(suggestedWindow.end),
    again: Number(answer.headers.get("retry-after")),
  };
}

const lifetimeOf = ({ notBefore, notAfter }: CertificateFacts) =>
  notAfter.getTime() - notBefore.getTime();

const isPast = (answer: Answer): boolean => windowOf(answer).end <= Date.now();

describe("ARI-2: the window", () => {
  test("lies in the last third of a life, and ends before it", async () => {
    const { leaf } = await obtain();
    const answer = await client.renewalInfo(leaf);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("link")).toContain('rel="index"');
    expect(JSON.parse(answer.text)).toHaveProperty("explanationURL", page);
    const { start, end, again } = windowOf(answer);
    const third = lifetimeOf(leaf) / 3;
    const nearly = 5000;
    expect(Math.abs(leaf.notAfter.getTime() - third - start)).toBeLessThan(nearly);
    expect(Math.abs(start + third / 2 - end)).toBeLessThan(nearly);
    expect(again).toBe(6 * 3600);
  });

  test("of a short life is asked for often enough", async () => {
    const { leaf } = await obtain([world.name()], { profile: "hours" });
    const { start, end, again } = windowOf(await client.renewalInfo(leaf));
    expect(again).toBe(Math.floor(lifetimeOf(leaf) / 24_000));
    expect(start).toBeGreaterThan(leaf.notBefore.getTime());
    expect(end).toBeLessThan(leaf.notAfter.getTime());
  });
});

describe("ARI-4: what is told about a renewal", () => {
  test("leads to the page that explains it, and asking is no event", async () => {
    const { leaf } = await obtain();
    const last = async () => {
      const { items } = await world.instance.admin<{ items: { seq: number }[] }>(
        "GET",
        "/api/events?limit=1",
      );
      return items[0]?.seq;
    };
    const before = await last();
    const told = await client.renewalInfo(leaf);
    expect(JSON.parse(told.text)).toHaveProperty("explanationURL", page);
    expect((await client.renewalInfo({ certId: "a.b" })).status).toBe(400);
    expect(await last()).toBe(Number(before));
  });
});

describe("ARI-1: a certificate", () => {
  test("is named in one way only", async () => {
    const { leaf } = await obtain();
    const [keyId = "", serial = ""] = leaf.certId.split(".");
    for (const certId of [
      "",
      keyId,
      `${keyId}.`,
      `.${serial}`,
      `${keyId}.${serial}.${serial}`,
      `${keyId}=.${serial}`,
      `${keyId}.${serial}==`,
      `${keyId}.AA${serial}`,
      `${keyId}.${"B".repeat(60)}`,
      "a b.c",
    ]) {
      const answer = await client.renewalInfo({ certId: encodeURI(certId) });
      expect(refusalOf(answer)).toBe(certId === "" ? "404 malformed" : "400 malformed");
    }
  });

  test("that nobody issued is not there", async () => {
    const { leaf } = await obtain();
    const [keyId = "", serial = ""] = leaf.certId.split(".");
    const other = Buffer.alloc(20, 7).toString("base64url");
    for (const certId of [`${other}.${serial}`, `${keyId}.AQ`]) {
      expect(refusalOf(await client.renewalInfo({ certId }))).toBe("404 malformed");
    }
  });
});

describe("ARI-3: to be replaced at once is", () => {
  test("what is revoked or held, and not what was released", async () => {
    const [revoked, held] = [await obtain(), await obtain()];
    await client.revoke(revoked.leaf.der);
    await command(world.instance, ["revoke", "suspend", "--ca", ca, held.leaf.serial]);
    for (const { leaf } of [revoked, held]) {
      const answer = await client.renewalInfo(leaf);
      const { start, end, again } = windowOf(answer);
      expect(isPast(answer)).toBe(true);
      expect(end - start).toBe(3_600_000);
      expect(again).toBe(3600);
    }
    await command(world.instance, ["revoke", "release", "--ca", ca, held.leaf.serial]);
    expect(isPast(await client.renewalInfo(held.leaf))).toBe(false);
  });

  test("what has a key that was blocked since", async () => {
    const { leaf } = await obtain();
    const { public_key_fingerprint: fingerprint } = await world.instance.admin<{
      public_key_fingerprint: string;
    }>("GET", `/api/ca/${world.chain.intermediateId}/certificates/${leaf.serial}`);
    const digest = Buffer.from(fingerprint.replace("SHA256:", ""), "base64").toString("hex");
    const body = { public_key_sha256: digest, reason: "leaked" };
    await world.instance.admin("POST", "/api/blocked-keys", body);
    expect(isPast(await client.renewalInfo(leaf))).toBe(true);
  });
});

describe("ORD-4: an order that replaces a certificate", () => {
  test("says so, marks it when it is valid, and nobody else replaces it again", async () => {
    const name = world.name();
    const { leaf } = await obtain([name]);
    const replaces = leaf.certId;
    const order = await client.order([name, world.name()], { replaces });
    expect(order).toMatchObject({ replaces });
    const rival = await client.order([name], { replaces });
    await client.prove(order, "http-01", world.show);
    const { der } = await newCsr({ names: order.identifiers.map(({ value }) => value) });
    expect((await client.finalize(order, der)).status).toBe("valid");
    const late = await client.newOrder([name], { replaces });
    expect(refusalOf(late)).toBe("409 alreadyReplaced");
    const { der: other } = await newCsr({ names: [name] });
    await client.prove(rival, "http-01", world.show);
    expect((await client.finalize(rival, other)).status).toBe("valid");
  });

  test("is of the account that has it, shares a name, and names one that is there", async () => {
    const { leaf } = await obtain();
    const [keyId = ""] = leaf.certId.split(".");
    const stranger = await world.client();
    const name = leaf.names[0] ?? "";
    for (const [one, names, replaces, refusal] of [
      [stranger, [name], leaf.certId, "403 unauthorized"],
      [client, [world.name()], leaf.certId, "400 malformed"],
      [client, [name], `${keyId}.AQ`, "404 malformed"],
      [client, [name], "nonsense", "400 malformed"],
      [client, [name], 7, "400 malformed"],
    ] as const) {
      expect(refusalOf(await one.newOrder(names, { replaces }))).toBe(refusal);
    }
    expect((await client.newOrder([name], { replaces: leaf.certId })).status).toBe(201);
  });

  test("is told as a renewal of that one, by the event of its certificate", async () => {
    const name = world.name();
    const first = await obtain([name]);
    const second = await obtain([name], { replaces: first.leaf.certId });
    const eventOf = async ({ leaf }: typeof first) =>
      (await world.events("cert.issue")).find(({ serial }) => serial === leaf.serial)?.detail ?? "";
    expect(await eventOf(second)).toContain(`renewed_from=${first.leaf.serial}`);
    expect(await eventOf(first)).not.toContain("renewed_from");
    // A renewal by protocol is an issue still, so that whoever listens for issues hears of it.
    expect(await world.events("cert.renew")).toEqual([]);
  });

  test("and was given up leaves it to the next one", async () => {
    const name = world.name();
    const { leaf } = await obtain([name]);
    await client.order([name], { replaces: leaf.certId });
    const { order } = await obtain([name], { replaces: leaf.certId });
    expect(order.status).toBe("valid");
  });
});

describe("after a rollover", () => {
  test("old certificates are to be replaced, by the successor, in a chain that verifies", async () => {
    const before = await obtain();
    await command(world.instance, ["ca", "rotate", ca]);
    expect(isPast(await client.renewalInfo(before.leaf))).toBe(true);
    const name = before.leaf.names[0] ?? "";
    const after = await obtain([name], { replaces: before.leaf.certId });
    expect(after.leaf.certId.split(".")[0]).not.toBe(before.leaf.certId.split(".")[0] ?? "");
    expect(isPast(await client.renewalInfo(after.leaf))).toBe(false);
    // The old CA still has its certificate revoked by who ordered it (P-1).
    expect((await client.revoke(before.leaf.der, 4)).status).toBe(200);
  });

  test("and so are those of a CA that is retired, which are told about still", async () => {
    const before = await obtain();
    await command(world.instance, ["ca", "rotate", ca, "--new-label", "third"]);
    // The oldest goes first, which was superseded before.
    const retire = () => command(world.instance, ["ca", "retire", ca, "--force", "--yes"]);
    await retire();
    const { retired_ca: issuer } = await retire();
    const { id } = issuer as { readonly id: string }; // As the command tells.
    await world.instance.admin("GET", `/api/ca/${id}/certificates/${before.leaf.serial}`);
    const answer = await client.renewalInfo(before.leaf);
    expect(answer.status).toBe(200);
    expect(isPast(answer)).toBe(true);
  });
});
