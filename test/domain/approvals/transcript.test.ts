/**
 * The transcript of a request: who, when, what, signed so that a file and the pinned key are enough
 * to check it.
 */

import { createPublicKey, verify } from "node:crypto";
import { expect, test } from "bun:test";

import { transcriptMessage } from "#domain/approvals/transcript.ts";
import { refusal, somebody } from "#test/support/worlds/governed-world.ts";
import {
  alice,
  bob,
  carol,
  fourEyesWorld,
  rootBody,
} from "#test/support/worlds/four-eyes-world.ts";

test("MON-1: the transcript holds all decisions and events, and its signature covers them as sent", async () => {
  const world = await fourEyesWorld({ default_threshold: 2 });
  const handle = await world.keys.generate({
    provider: "software",
    label: "ledger-x",
    keyType: "ed25519",
    role: "ledger",
  });
  await world.store.atomically(async (tx) => {
    await tx.instance.setValue("ledger_id", "x");
    await tx.instance.setValue("ledger_key_id", handle.ref.id);
  });
  const { approval_id: id } = await world.ask("ca.init_root", alice, { body: rootBody() });
  await refusal(world.approve(alice, id));
  await world.approve(bob, id);
  await world.approve(carol, id);
  await world.ask("ca.init_root", alice, { body: rootBody("other") });

  const text = await world.raw("approval.transcript", bob, { path: { id } });
  const { approval, events, exported_at, signature_algorithm, signature } = JSON.parse(text);
  expect(signature_algorithm).toBe("ed25519");
  expect(approval.decisions.map(({ approver }: { approver: string }) => approver)).toEqual([
    "bob",
    "carol",
  ]);
  expect(
    events.map((one: { action: string; result: string }) => `${one.action} ${one.result}`),
  ).toEqual([
    "ca.create.pending success",
    "ca.create.approved denied",
    "ca.create.approved success",
    "ca.init_root success",
  ]);
  const texts = [JSON.stringify(approval), JSON.stringify(events), exported_at];
  expect(text).toContain(`"approval":${texts[0]},"events":${texts[1]},`);
  const key = createPublicKey({ key: Buffer.from(handle.spki), format: "der", type: "spki" });
  const signed = Buffer.from(signature, "base64");
  expect(verify(null, transcriptMessage(texts), key, signed)).toBe(true);
  const forged = [texts[0]?.replace("carol", "carla") ?? "", ...texts.slice(1)];
  expect(verify(null, transcriptMessage(forged), key, signed)).toBe(false);
  const elsewhere = somebody("eve", { web: ["auditor"] });
  const foreign = await refusal(world.raw("approval.transcript", elsewhere, { path: { id } }));
  expect(foreign.code).toBe("not_found");
});
