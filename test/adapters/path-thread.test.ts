/**
 * Chains are judged off the thread that serves, within a budget, and whatever happens there ends
 * there.
 */

import { afterEach, expect, test } from "bun:test";

import { PathThread, pathsHere } from "#adapters/paths/thread.ts";
import { encodePem } from "#core/asn1/pem.ts";
import type { PathSearch } from "#core/policy/path-work.ts";
import { subjectAltName } from "#core/x509/extensions.ts";
import { slhDsaSpki } from "#core/slh-dsa.ts";
import { assembleSigned, encodeTbsCertificate } from "#core/x509/certificate.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";

const workerUrl = import.meta.resolve("#test/support/worlds/path-worker.ts");
const key = makeKey("ecdsa-p256");
const root = certify(key, rootFields(key, "ecdsa-sha256"));
const search = (certificate: string, more: Partial<PathSearch> = {}): PathSearch => ({
  kind: "find",
  certificate,
  intermediates: [],
  own: [root],
  anchor: root,
  now: rootFields(key, "ecdsa-sha256").notBefore,
  ...more,
});
const someone = { home: "own", name: "someone" };
const rootPem = encodePem("CERTIFICATE", root);

let thread: PathThread;
afterEach(() => thread.close());
const start = (options: { budgetMs?: number; idleMs?: number } = {}) => {
  thread = new PathThread({ workerUrl, ...options });
  return thread;
};

test("a thread answers what this one would, also what cannot be read", async () => {
  const paths = start();
  for (const certificate of [
    rootPem,
    "rubbish",
    encodePem("CERTIFICATE", Uint8Array.of(0x30, 0)),
  ]) {
    expect(await paths.ask(search(certificate))).toEqual(
      (await pathsHere.ask(search(certificate), someone)) as never,
    );
  }
  const now = rootFields(key, "ecdsa-sha256").notBefore;
  const review = {
    kind: "judge",
    path: [root],
    built: true,
    anchor: root,
    revocation: [],
    now,
  } as const;
  expect(await paths.ask(review)).toEqual((await pathsHere.ask(review, someone)) as never);
  for (const shown of [[root], [Uint8Array.of(0x30, 0)], []]) {
    const client = { kind: "client", shown, anchors: [root], now } as const;
    expect(await paths.ask(client)).toEqual((await pathsHere.ask(client, someone)) as never);
  }
});

test("work beyond the budget is given up, and the next question is answered by a fresh thread", async () => {
  const paths = start({ budgetMs: 2000 });
  const endless = paths.ask(search("endless"));
  const waiting = paths.ask(search(rootPem));
  expect(await endless).toBeUndefined();
  expect(await waiting).toMatchObject({ built: true });
});

test("a thread that dies fails its question alone", async () => {
  const paths = start();
  expect(await paths.ask(search("crash")).catch((error) => error.message)).toContain("ended");
  expect(await paths.ask(search(rootPem))).toMatchObject({ built: true });
});

test("a thread nobody asks ends, and another begins with the next question", async () => {
  const paths = start({ idleMs: 1 });
  expect(await paths.ask(search(rootPem))).toMatchObject({ built: true });
  await Bun.sleep(100);
  expect(await paths.ask(search(rootPem))).toMatchObject({ built: true });
});

test("of more questions than can be answered soon the last are refused", async () => {
  const paths = start();
  const asked = Array.from({ length: 33 }, () =>
    paths.ask(search(rootPem)).then(
      () => "answered",
      (error) => error.code,
    ),
  );
  const told = await Promise.all(asked);
  expect(told.filter((one) => one === "answered")).toHaveLength(32);
  expect(told.at(-1)).toBe("overloaded");
});

test("who asks for more than can be answered holds up nobody else, and gives way to those who ask little", async () => {
  const paths = start();
  const order: string[] = [];
  const ask = (home: string, name: string) =>
    paths.ask(search(rootPem), { home, name }).then(
      () => order.push(`${home}/${name}`),
      (error) => order.push(`${home}/${name} ${error.code}`),
    );
  const greedy = Array.from({ length: 40 }, () => ask("greedy", "one"));
  const others = [ask("greedy", "two"), ask("other", "three"), ask("third", "four")];
  await Promise.all([...greedy, ...others]);
  const refused = order.filter((one) => one.endsWith("overloaded"));
  expect(new Set(refused)).toEqual(new Set(["greedy/one overloaded"]));
  expect(refused).toHaveLength(40 + 3 - 32);
  const answered = order.filter((one) => !one.endsWith("overloaded"));
  // One of the greedy was under way, and homes come in turn after it.
  for (const name of ["other/three", "third/four", "greedy/two"]) {
    expect(answered.indexOf(name)).toBeLessThan(6);
  }
});

test("sixteen decoys with the dearest keys there are hold nobody up", async () => {
  const fields = rootFields(key, "ecdsa-sha256");
  const decoy = (at: number) => {
    const raw = new Uint8Array(64).fill(at + 1);
    const spki = slhDsaSpki("slh-dsa-sha2-256s", raw);
    const tbs = encodeTbsCertificate({ ...fields, signature: "slh-dsa-sha2-256s", spki });
    return encodePem(
      "CERTIFICATE",
      assembleSigned(tbs, "slh-dsa-sha2-256s", new Uint8Array(29_792)),
    );
  };
  const decoys = Array.from({ length: 16 }, (_, at) => decoy(at));
  const names = subjectAltName([{ kind: "dns", value: "a.test" }], false);
  const leaf = encodeTbsCertificate({
    ...fields,
    signature: "slh-dsa-sha2-256s",
    extensions: [names],
  });
  const pem = encodePem(
    "CERTIFICATE",
    assembleSigned(leaf, "slh-dsa-sha2-256s", new Uint8Array(29_792)),
  );
  const paths = start();
  await paths.ask(search(rootPem));
  let turns = 0;
  let over = false;
  const count = () => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const found = await paths.ask(search(pem, { intermediates: decoys }));
  over = true;
  // Given up or answered: never a path, and this thread went on all the while.
  expect(found === undefined || ("built" in found && !found.built)).toBe(true);
  expect(turns).toBeGreaterThan(100);
});
