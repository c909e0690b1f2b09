/**
 * The lines of the manual by which anybody checks an approval transcript with openssl, run as they
 * stand there.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { binary, Instance } from "#test/support/instances/instance.ts";
import { shareSecondPerson } from "#test/support/instances/second-person.ts";

const second = shareSecondPerson();
const folder = mkdtempSync(join(tmpdir(), "pkid-transcript-"));
let instance: Instance;
beforeAll(async () => {
  const config = { auth: second.auth, approvals: { enabled: true } };
  instance = await Instance.start({ config });
  const shim = `#!/bin/sh\nexec '${binary}' "$@" --config '${join(instance.home, "pkid.yaml")}'\n`;
  writeFileSync(join(folder, "pkid"), shim);
  chmodSync(join(folder, "pkid"), 0o755);
}, 30_000);
afterAll(async () => {
  await instance?.dispose();
  rmSync(folder, { recursive: true });
});

/** The fenced block of the manual with this line. */
function block(line: string): string {
  const manual = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const found = manual.split("```").find((part) => part.startsWith("sh\n") && part.includes(line));
  if (found === undefined) throw new Error("the manual has no such lines");
  return found.slice("sh\n".length);
}

const run = (script: string, ID: string) =>
  Bun.spawnSync(["sh", "-eu", "-c", script], {
    cwd: folder,
    env: { PATH: `${folder}:${process.env.PATH}`, ID, HOME: folder },
  });

test("MON-1: the manual's openssl line says that a transcript is genuine, and that an edited one is not", async () => {
  const request = {
    label: "Wurzel-1",
    subject: { cn: 'Würzel "1", "events":[' },
    key_type: "ecdsa-p256",
  };
  const parked = await instance.admin<{ approval_id: string }>(
    "POST",
    "/api/ca/init-root",
    request,
  );
  const path = `/api/approvals/${parked.approval_id}/approve`;
  const approved = await second.send(instance, "POST", path, {
    comment: 'ja, "exported_at":"now"',
  });
  expect(approved.body.status).toBe("executed");
  const lines = block("openssl pkeyutl -verify");
  const verified = run(lines, parked.approval_id);
  expect([verified.exitCode, String(verified.stdout)]).toEqual([
    0,
    "Signature Verified Successfully\n",
  ]);
  const { items } = await instance.admin<{ items: Record<string, string>[] }>(
    "GET",
    "/api/inventory/keys",
  );
  const ledger = items.find(({ role }) => role === "ledger");
  expect(ledger?.public_key).toBe(readFileSync(join(folder, "ledger.pem"), "utf8"));
  expect(String(verified.stderr)).toContain(`fingerprint ${ledger?.public_key_fingerprint}`);
  // The file is edited after it was fetched.
  const edited = lines.replace(
    "pkid keys inventory",
    `sed -i 's/"approver":"${second.subject}"/"approver":"eve"/' transcript.json\npkid keys inventory`,
  );
  const refused = run(edited, parked.approval_id);
  expect(refused.exitCode).not.toBe(0);
  expect(String(refused.stdout)).not.toContain("Verified Successfully");
}, 60_000);
