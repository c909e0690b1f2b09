/** Random histories against the smallest model: CRL, OCSP, list and model agree after every step. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { parseSerial, type Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { issuerOf } from "#domain/revocation/issuers.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/small-ca.ts";

/** What the model remembers of a serial; absent is good or unknown. */
interface Entry {
  readonly at: number;
  readonly reason: RevocationReason;
}

interface Step {
  readonly action: "revoke" | "suspend" | "release";
  readonly serial: number;
  readonly reason: RevocationReason;
  readonly seconds: number;
}

// Serials 1..3 are certificates, 4 and 5 nobody has issued.
const steps = fc.array(
  fc.record<Step>({
    action: fc.constantFrom("revoke", "suspend", "release"),
    serial: fc.integer({ min: 1, max: 5 }),
    reason: fc.constantFrom("unspecified", "keyCompromise", "superseded", "certificateHold"),
    seconds: fc.integer({ min: 0, max: 90 }),
  }),
  { maxLength: 25 },
);

test("every history leaves CRL, OCSP and table as the model says", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const small = await smallCa();
      for (const serial of ["1", "2", "3"]) await small.issue({ serial: parseSerial(serial) });
      const model = new Map<string, Entry>();
      for (const step of history) {
        small.clock.advance(step.seconds);
        await play(small, model, step);
        await agree(small, model);
      }
    }),
    { numRuns: 40, seed: 20_260_601 },
  );
}, 60_000);

async function play(small: SmallCa, model: Map<string, Entry>, step: Step): Promise<void> {
  const serial = parseSerial(String(step.serial));
  const request = { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true };
  const expected = predicted(model, step, small.clock.at);
  const run =
    step.action === "revoke"
      ? small.revoker.revoke(request, step.reason)
      : small.revoker[step.action](request);
  const outcome = await run.then(
    ({ status }) => status,
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
  expect(outcome).toBe(expected);
}

/** The model: moves itself, and says what the answer has to be. */
function predicted(model: Map<string, Entry>, step: Step, at: number): string {
  const serial = String(step.serial);
  const entry = model.get(serial);
  const held = entry?.reason === "certificateHold";
  if (step.action === "release") {
    if (!held) return "not_held";
    model.delete(serial);
    return "released";
  }
  const suspends = step.action === "suspend" || step.reason === "certificateHold";
  if (suspends && held) return "already-held";
  if (suspends && entry !== undefined) return "already_revoked";
  if (suspends && step.serial > 3) return "not_found";
  if (!suspends && entry !== undefined && !held) return "already-revoked";
  model.set(serial, { at, reason: suspends ? "certificateHold" : step.reason });
  return suspends ? "held" : "revoked";
}

async function agree(small: SmallCa, model: ReadonlyMap<string, Entry>): Promise<void> {
  const crl = parseCrl(
    await small.publisher.der(await small.publisher.publishBase(small.ca, rootOrigin)),
  );
  const listed = crl.entries.map(({ serial, revokedAt, reason }) => [serial, revokedAt, reason]);
  const wanted = [...model].map(([serial, { at, reason }]) => [serial, at, reason]);
  expect(listed.sort()).toEqual(wanted.sort() as never);
  const { items } = await small.store.read.revocations.page({ caId: small.ca.id }, 100);
  expect(items.map(({ serial }) => String(serial)).sort()).toEqual([...model.keys()].sort());
  for (let serial = 1; serial <= 5; serial++) {
    const entry = model.get(String(serial));
    const status = entry
      ? { status: "revoked", ...entry }
      : { status: serial > 3 ? unknown : good };
    expect(await ocspStatusOf(small, parseSerial(String(serial)))).toEqual(status as never);
  }
}

async function ocspStatusOf(small: SmallCa, serial: Serial) {
  const issuerName = issuerOf(small.ca).subject.der;
  const question = { issuerName, issuerSpki: small.ca.spki, serial, hash: "sha1" } as const;
  const { der } = await small.ocsp.answer(small.ca.id, encodeOcspRequest(question));
  return parseOcspResponse(der).basic?.answers[0]?.status;
}

const good = "good";
const unknown = "unknown";
