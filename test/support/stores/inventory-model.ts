/** An inventory small enough for a model, and every question that can be asked of it. */

import fc from "fast-check";

import { caId, type Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { CertificateFilter, CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "./records.ts";
import { createModelReads } from "./row-model.ts";

/** The CA that is asked about. */
export const home = caId("home");
/** Leaves and others of two CAs, whose names, keys and times repeat. */
export const inventoryRows: readonly CertificateRecord[] = Array.from({ length: 90 }, (_, at) =>
  make.certificate({
    caId: at % 7 === 0 ? caId("other") : home,
    kind: at % 11 === 0 ? "responder" : "leaf",
    serial: String(at < 45 ? BigInt(at + 1) ** 7n + 1n : 2n ** 126n / BigInt(at)) as Serial,
    subject: `CN=Host-${at}.a.example`,
    commonName: `Host-${at}.a.example`,
    sans: [],
    profile: at % 4 === 0 ? "rare" : "server",
    spkiSha256: `${at % 5}`.repeat(64),
    requestedBy: at % 3 === 0 ? "token:often" : `local:${at % 20}`,
    // Seconds apart, or days, so that totals are made of whole days and of parts.
    notAfter: instant(make.noon + ((at * 37) % 10) * (at % 2 === 0 ? 1000 : 43_200_000)),
  }),
);

const gone = make.certificate({ caId: caId("other"), profile: "none" });

const moment = (min: number) =>
  fc
    .tuple(fc.integer({ min, max: 11 }), fc.constantFrom(1000, 43_200_000, 86_400_000))
    .map(([steps, width]) => instant(make.noon + steps * width));

/** Filters of every combination, drawn from what the rows are and are not. */
export const inventoryFilters = fc.record<CertificateFilter>(
  {
    caId: fc.constant(home),
    now: moment(-1),
    status: fc.constantFrom("good", "expired", "held", "revoked"),
    profile: fc.constantFrom("server", "rare", "none"),
    text: fc.oneof(
      fc.constantFrom("host-1", "HOST", "a", "-1", ".a.ex", "zzz", "example", '"', "cn=host-22."),
      fc.constantFrom(...inventoryRows.map(({ serial }) => serial)),
    ),
    serialPrefix: fc.oneof(
      fc.constantFrom("1", "12", "2", "0x1", "0xa", "0x2f", "9", "0xffff", "%", "0"),
      fc.constantFrom(...inventoryRows.map(({ serial }) => serial.slice(0, 3))),
      fc.constantFrom(
        ...inventoryRows.map(({ serial }) => `0x${BigInt(serial).toString(16).slice(0, 3)}`),
      ),
    ),
    expiresBefore: fc.oneof(moment(0), fc.constant(instant(0))),
    spkiSha256: fc.constantFrom("0".repeat(64), "3".repeat(64), "f".repeat(64)),
    requestedBy: fc.constantFrom("token:often", "local:7", "nobody"),
  },
  { requiredKeys: ["caId", "now"] },
);

/** Model of the inventory that `fillInventory` stores. */
export const inventoryModel = createModelReads({
  cas: [],
  certificates: inventoryRows.map((row, at) => ({ ...row, status: statusAt(at) })),
  events: [],
});

/** Stores the rows, and suspends and revokes some. */
export async function fillInventory(store: Store): Promise<void> {
  for (const row of inventoryRows) await make.issue(store, row);
  for (const [at, { caId: ca, serial }] of inventoryRows.entries()) {
    if (at % 9 === 0) await set(store, ca, serial, "held");
    if (statusAt(at) === "revoked") await set(store, ca, serial, "revoked");
  }
  await make.issue(store, gone);
}

function statusAt(at: number): CertificateRecord["status"] {
  if (at % 9 === 4 || at % 18 === 0) return "revoked";
  return at % 9 === 0 ? "held" : "good";
}

const set = (
  store: Store,
  ca: CertificateRecord["caId"],
  serial: Serial,
  status: "held" | "revoked",
) =>
  store.atomically((tx) =>
    tx.certificates.setStatus(ca, serial, status, make.noon, "certificateHold"),
  );
