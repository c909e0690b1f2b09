/** The canary of the binary: a probe shows every stage, and which one a broken CA fails at. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { parseCrl } from "#core/x509/crl.ts";
import { stages } from "#domain/canary/stages.ts";
import type { Ran } from "#test/support/child.ts";
import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { preflight } from "#test/support/instances/preflight.ts";

const home = newHome();
const config = {
  canary: { enabled: true, cas: ["issuing-ecdsa-p256"] },
  crl: { refresh_after_revocation_seconds: 0 },
};
const keys = join(home, "data", "keys");
let instance: Instance;
let chain: Chain;
/** Files of the keys that came with the issuing CA. */
let keysOfIssuing: readonly string[];

beforeAll(async () => {
  // Without it, so that no probe comes before its CA.
  instance = await Instance.start({ home });
  expect((await instance.cli("ca", "init-root", "--label", "other", "--cn", "Other")).code).toBe(0);
  const before = readdirSync(keys);
  chain = await createChain(instance, "ecdsa-p256");
  keysOfIssuing = readdirSync(keys).filter((name) => !before.includes(name));
  await instance.stop();
  instance = await Instance.start({ home, config });
}, 60_000);

afterAll(() => instance.dispose());

test("CAN-1: a probe shows every stage, and what it leaves is revoked, listed, on record and proven", async () => {
  const run = await probed((...flags) => instance.cli("canary", "run", ...flags), "--json");
  expect([run.code, run.stderr]).toEqual([0, ""]);
  const { result, probes } = JSON.parse(run.stdout);
  expect(result).toBe("success");
  expect(probes).toMatchObject([{ ca: "issuing-ecdsa-p256", ca_id: chain.intermediateId }]);
  const [{ serial, stages: shown }] = probes;
  expect(shown.map(({ stage }: { stage: string }) => stage)).toEqual([...stages]);

  const path = `/api/ca/${chain.intermediateId}/certificates/${serial}`;
  const certificate = await instance.admin("GET", path);
  const revocation = { status: "revoked", reason: "cessationOfOperation" };
  const names = { common_name: "pkid-canary", sans: ["dns:pkid-canary.invalid"] };
  expect(certificate).toMatchObject({ marker: "canary", ...names, ...revocation });
  const listed = async () => {
    const crl = await instance.fetch(`/api/ca/${chain.intermediateId}/crl`);
    return parseCrl(await crl.bytes()).entries.some((entry) => entry.serial === serial);
  };
  while (!(await listed())) await Bun.sleep(50);

  const told = await command(instance, ["audit", "list", "--action", "canary.probe"]);
  expect(told.items).toContainEqual(
    expect.objectContaining({
      result: "success",
      serial,
      ca_id: chain.intermediateId,
      detail: "ca=issuing-ecdsa-p256",
    }),
  );
  const check = (await preflight(home, ["canary.last_probe"])).checks["canary.last_probe"];
  expect([check?.status, check?.detail]).toEqual([
    "pass",
    expect.stringContaining("The last probe succeeded: issuing-ecdsa-p256 at "),
  ]);
  const metrics = await instance.metrics();
  expect(metrics).toMatch(/pki_canary_probes_total\{result="success"\} [1-9]/);
  expect(metrics).toMatch(/pki_canary_stage_duration_seconds_count\{stage="delta"\} [1-9]/);
  expect(metrics).toMatch(/pki_canary_last_success_timestamp_seconds [1-9]/);
  const proven = await instance.cli("verify");
  expect([proven.code, proven.stdout]).toEqual([0, expect.not.stringContaining("violat")]);
}, 60_000);

test("a table has a line for each stage, of a CA that is named too", async () => {
  const run = await probed((...flags) => instance.cli("canary", "run", ...flags), "--ca", "other");
  expect([run.code, run.stderr]).toEqual([0, ""]);
  const [head, ...lines] = run.stdout.trimEnd().split("\n");
  expect(head).toMatch(/^CA +STAGE +MS +RESULT$/);
  expect(lines.map((line) => line.split(/ +/).filter((_, at) => at !== 2))).toEqual(
    stages.map((stage) => ["other", stage, "success"]),
  );
});

test("CAN-1: with its key gone a CA fails where the key is needed, and the others do not", async () => {
  await instance.stop();
  for (const name of keysOfIssuing) rmSync(join(keys, name));
  // Without a server the shell publishes the list of the revocation itself.
  const other = await runCli(home, ["canary", "run", "--ca", "other"]);
  expect([other.code, other.stderr]).toEqual([0, ""]);
  const broken = await runCli(home, ["canary", "run"]);
  expect([broken.code, broken.stderr]).toEqual([1, ""]);
  expect(broken.stdout).toMatch(/issuing-ecdsa-p256 +issue +\d+ +error: key_unavailable\n$/);
  const { code, checks } = await preflight(home, ["canary.last_probe"]);
  expect([code, checks["canary.last_probe"]]).toEqual([
    2,
    expect.objectContaining({
      status: "fail",
      detail: expect.stringContaining("at the stage issue: key_unavailable."),
      remedy: "Read the event's stage.",
    }),
  ]);
}, 60_000);

/** Repeats what meets the probe of the schedule, which comes when it likes. */
async function probed(run: (...flags: string[]) => Promise<Ran>, ...flags: string[]): Promise<Ran> {
  for (;;) {
    const ran = await run(...flags);
    if (!ran.stderr.includes("operation_running")) return ran;
  }
}
