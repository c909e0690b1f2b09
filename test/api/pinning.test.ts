/** TLSA records over the pipeline. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { authorityHandlers } from "#api/authorities.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import { pinningHandlers } from "#api/pinning.ts";
import { csr, issuanceWorld, rootOrigin } from "#test/support/worlds/issuance.ts";

const world = issuanceWorld();
const handlers = { ...authorityHandlers(world), ...issuanceHandlers(world) };
const perform = openPipeline({ ...world });

test("TLSA has 8 records and with a serial 12; what is no host name, port or serial is refused", async () => {
  const subject = { cn: "Root" };
  const root = await ask("ca.init_root", { body: { label: "r", subject, key_type: "ecdsa-p256" } });
  const path = { id: String(root.id) };
  const leaf = await ask("cert.issue", { path, body: { csr: csr() } });
  const tlsa = (query: string) => ask("dns.tlsa", { path, query });
  const eight = await tlsa("host=A.example.&port=25&protocol=sctp");
  expect(eight.tlsa).toHaveLength(8);
  expect(eight.zone).toStartWith("_25._sctp.a.example. IN TLSA 0 1 1 ");
  const hex = BigInt(String(leaf.serial)).toString(16);
  expect((await tlsa(`host=a.example&serial=0x${hex}`)).tlsa).toHaveLength(12);
  for (const [query, code] of [
    ["", "bad_query"],
    ["host=a%0Ab", "bad_query"],
    ["host=a.example%20IN%20A%201.2.3.4", "bad_query"],
    ["host=a&port=0", "bad_query"],
    ["host=a&port=65536", "bad_query"],
    ["host=a&protocol=icmp", "bad_query"],
    ["host=a&serial=-1", "bad_serial"],
    ["host=a&serial=12", "not_found"],
  ] as const) {
    await expect(tlsa(query)).rejects.toMatchObject({ code });
  }
});

type Operation = "ca.init_root" | "cert.issue" | "dns.tlsa";
type Asked = { path?: Record<string, string>; query?: string; body?: unknown };

async function ask(operation: Operation, asked: Asked): Promise<Record<string, unknown>> {
  const { path = {}, query = "", body } = asked;
  const call = { operation, origin: rootOrigin, path, body: async () => body };
  const all = { ...handlers, ...pinningHandlers(world) };
  const answer = await askJson(
    perform,
    { ...call, query: new URLSearchParams(query) },
    all[operation],
  );
  return JSON.parse(JSON.stringify(answer.body));
}
