/**
 * The longest body of every operation is answered by a refusal or in turns with everybody else, who
 * notice nothing.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { crlNumber, encodeExtensions, type Extension } from "#core/x509/extensions.ts";
import { assembleSigned, parseCertificate } from "#core/x509/certificate.ts";
import { encodeCrlEntry, encodeTbsCertList } from "#core/x509/crl.ts";
import { parseSerial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { integer, sequence, time } from "#core/asn1/der.ts";
import { decodePem, encodePem } from "#core/asn1/pem.ts";
import { type OperationName, operationOf, operations, routeOf } from "#operations";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { pollHealth } from "#test/support/fuzz/fuzz.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { selectByRun } from "#test/support/run-length.ts";

let instance: Instance;
let chain: Chain;
let secret: string;
let health: ReturnType<typeof pollHealth>;

beforeAll(async () => {
  instance = await Instance.start();
  chain = await createChain(instance, "ecdsa-p256");
  secret = await instance.token(["admin"], { scope: "platform" });
  health = pollHealth(instance);
}, 60_000);
afterAll(() => instance.dispose());

describe("a body as long as may be", () => {
  test("of nothing but lists, texts or escapes is worked off in turns, on every operation", async () => {
    // The long run sends to every operation. The short one sends to all bulk operations and to a
    // quarter of the others, which share the code that reads a body.
    const plain = written.filter((name) => operationOf(name).bulk !== true);
    const every = selectByRun(4, 1);
    const skipped = new Set(plain.filter((_, at) => at % every !== 0));
    for (const operation of written.filter((name) => !skipped.has(name))) {
      const size = operationOf(operation).bulk ? bulkMax : plainMax;
      const { bulk } = operationOf(operation);
      const pieces = ["{},", '"",', '{"csr":"a"},'];
      for (const piece of bulk ? pieces : pieces.slice(0, 1)) {
        const count = Math.floor((size - 20) / piece.length);
        const answer = await send(operation, `{"items":[${piece.repeat(count)}0]}`);
        // Operations without a body read none, and may do what their path asks for.
        if (answer.status >= 500) throw new Error(`${operation}: ${answer.status}`);
        if (bulk) expect(answer).toMatchObject({ status: 400, code: "invalid_field" });
      }
    }
    const escapes = `{"csr":"${"\\u0041".repeat((plainMax - 20) / 6)}"}`;
    expect((await send("cert.issue", escapes)).code).toBe("invalid_field");
    const members = Array.from({ length: 600_000 }, (_, at) => `"${at}":0`).join();
    expect((await send("cert.issue", `{${members}}`)).code).toBe("invalid_field");
    await blockedNobody();
  }, 120_000);

  test("that is longer still is refused before it is read", async () => {
    for (const [operation, size] of [
      ["cert.issue", plainMax],
      ["cert.issue_bulk", bulkMax],
    ] as const) {
      const answer = await send(operation, " ".repeat(size + 1));
      expect([answer.status, answer.limit_bytes]).toEqual([413, size]);
    }
  });

  test("of 10,000 requests that are none is planned, each with its refusal", async () => {
    const csr = `-----BEGIN CERTIFICATE REQUEST-----\n${"MIIB\n".repeat(500)}-----END CERTIFICATE REQUEST-----`;
    const items = Array<object>(10_000).fill({ csr });
    const plan = await send(
      "cert.issue_bulk",
      JSON.stringify({ dry_run: true, concurrency: 64, items }),
    );
    expect(plan).toMatchObject({ status: 200, requested: 10_000, invalid: 10_000 });
    await blockedNobody();
  }, 60_000);

  test("of requests whose keys are dear to check is planned as well", async () => {
    const csr = await newCsr(instance.home, "long.example.test", "rsa-2048");
    const count = selectByRun(300, 1000);
    const items = Array<object>(count).fill({ csr });
    const plan = await send(
      "cert.issue_bulk",
      JSON.stringify({ dry_run: true, concurrency: 64, items }),
    );
    expect(plan).toMatchObject({ status: 200, requested: count });
    await blockedNobody();
  }, 120_000);

  test("of requests whose modulus was chosen to be costly to check is planned as well", async () => {
    // The modulus is 1 modulo many primes, as a power with many exponents would be.
    const csr = await Bun.file(
      new URL("../support/keys/costly-modulus.csr", import.meta.url),
    ).text();
    const items = Array<object>(60).fill({ csr });
    const plan = await send(
      "cert.issue_bulk",
      JSON.stringify({ dry_run: true, concurrency: 64, items }),
    );
    expect(plan).toMatchObject({ status: 200, requested: 60 });
    await blockedNobody();
  }, 120_000);

  test("of 100,000 serials is planned", async () => {
    const serials = Array.from({ length: 100_000 }, (_, at) => String(2n ** 150n + BigInt(at)));
    const filter = { serials };
    const plan = await send("cert.revoke_bulk", JSON.stringify({ dry_run: true, filter }));
    expect(plan).toMatchObject({ status: 200, unknown: 100_000 });
    const done = await send("cert.revoke_bulk", JSON.stringify({ filter, confirm_count: 1 }));
    expect(done).toMatchObject({ status: 409, code: "confirm_count_mismatch" });
    await blockedNobody();
  }, 120_000);

  describe("of a CRL that nobody signed is refused:", () => {
    const at = instant(Date.UTC(2026, 0, 1));
    const superseded = { serial: parseSerial("1"), revokedAt: at, reason: "superseded" } as const;
    const usual = encodeCrlEntry(superseded);
    const encodeEntry = (count: number) =>
      sequence(integer(1), time(at), encodeExtensions(createExtensions(count)));
    // Columns: what, the entry, how often it occurs, extensions of the list.
    // biome-ignore format: the table is read by column.
    const lists: readonly (readonly [string, () => Uint8Array, number, number])[] = [
      ["half a million entries",          () => usual,         500_000, 0],
      ["2,000 entries of 400 extensions", () => encodeEntry(400), 2000,    0],
      ["900,000 extensions",              () => usual,         1,       900_000],
    ];
    test.each(lists)(
      "%s",
      async (_what, entry, count, extensions) => {
        const issuer = decodePem(await Bun.file(chain.intermediate).text(), ["CERTIFICATE"]);
        const tbs = encodeTbsCertList({
          signature: "ecdsa-sha256",
          issuer: parseCertificate(issuer ?? new Uint8Array()).subject.der,
          thisUpdate: at,
          nextUpdate: at,
          entries: Array<Uint8Array>(count).fill(entry()),
          extensions: [crlNumber(1), ...createExtensions(extensions)],
        });
        const list = assembleSigned(tbs, "ecdsa-sha256", new Uint8Array(70));
        for (const crl of [list.toBase64(), encodePem("X509 CRL", list)]) {
          const answer = await send("crl.import", JSON.stringify({ crl }));
          expect(answer).toMatchObject({ status: 400, code: "invalid_field", field: "crl" });
        }
        await blockedNobody();
      },
      60_000,
    );

    test.each(["A", " ", "\n", "-"])("33 million times %j", async (character) => {
      const body = JSON.stringify({
        crl: character.repeat(character === "\n" ? 16_000_000 : 32_900_000),
      });
      expect(await send("crl.import", body)).toMatchObject({ status: 400, code: "invalid_field" });
      await blockedNobody();
    });
  });

  test("of any of these kinds kept nobody from hearing that the server is well", async () => {
    const { p99, longest } = await health.stop();
    // Seen from another process of a machine that may do much else; at once they took 4 to 21 s.
    expect(p99).toBeLessThan(1500);
    expect(longest).toBeLessThan(4000);
  });
});

/**
 * Operations with a body, but those that only the admin socket has and those that need no
 * credential.
 */
const written = (Object.keys(operations) as OperationName[]).filter((name) => {
  // The table's own keys.
  const row = operationOf(name);
  return row.needs !== "pub" && row.local !== true && /^(POST|PUT) /.test(row.route);
});

/** Returns unknown extensions of about 21 bytes each. */
const createExtensions = (count: number): readonly Extension[] =>
  Array.from({ length: count }, (_, n) => ({
    oid: `2.999.${n + 100_000}`,
    critical: false,
    value: new Uint8Array(10),
  }));

interface Told {
  readonly status: number;
  readonly [member: string]: unknown;
}

async function send(operation: OperationName, body: string): Promise<Told> {
  const { method, path } = routeOf(operation);
  const at = path.replace("{id}", chain.intermediateId).replace("{serial}", "1");
  const headers = { authorization: `Token ${secret}`, "content-type": "application/json" };
  const answer = await instance.fetch(at, { method, headers, body });
  return { ...JSON.parse(await answer.text()), status: answer.status };
}

/**
 * The server itself says when it was held, and what of that it worked. The bound is far above the
 * 50 ms that are guaranteed, for slow machines, and far below what it took to read any of these
 * bodies at once.
 */
async function blockedNobody(): Promise<void> {
  await Bun.sleep(50);
  const lines = instance.logs.slice(seen).filter((line) => line.includes('"event_loop_held"'));
  seen = instance.logs.length - 1;
  const long = lines
    .map((line) => JSON.parse(line))
    .filter(({ held_ms, cpu_ms }) => Math.min(held_ms, cpu_ms) > 250);
  if (process.env.PKID_SHOW_HOLDS) console.log(lines.join("\n"));
  expect(long).toEqual([]);
}

let seen = 0;
const plainMax = 8_388_608;
const bulkMax = 33_554_432;
