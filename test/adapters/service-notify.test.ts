/** What a service manager is told goes out on its socket, and only while it is true. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { notifierAt } from "#adapters/service-notify.ts";
import { Supervisor } from "#app/supervisor.ts";
import { Datagrams } from "#test/support/servers/datagrams.ts";
import { until } from "#test/support/until.ts";

const open: Datagrams[] = [];
afterAll(() => {
  for (const one of open) one.close();
});

describe("a message", () => {
  const folder = mkdtempSync(join(tmpdir(), "pkid-notify-"));
  for (const address of [join(folder, "notify"), `@pkid-test-${crypto.randomUUID()}`]) {
    test(`reaches ${address.startsWith("@") ? "an abstract" : "a named"} socket whole`, async () => {
      const heard = await Datagrams.at(address);
      open.push(heard);
      expect(notifierAt(address)?.("READY=1\nSTATUS=Grüße")).toBe(true);
      await heard.heard("READY");
      expect(heard.messages).toEqual(["READY=1\nSTATUS=Grüße"]);
    });
  }

  test("that nobody takes is told to whoever sends it, and throws nothing", () => {
    expect(notifierAt(join(folder, "nobody"))?.("READY=1")).toBe(false);
    expect(notifierAt(`@pkid-nobody-${crypto.randomUUID()}`)?.("READY=1")).toBe(false);
  });

  test("has nowhere to go without an address, or with one that is none", () => {
    for (const address of [
      undefined,
      "",
      "/",
      "@",
      "relative",
      "vsock:2:1",
      `/${"x".repeat(108)}`,
    ]) {
      expect(notifierAt(address)).toBeUndefined();
    }
  });
});

describe("a watchdog", () => {
  const watched = () => {
    const said: string[] = [];
    const notify = (message: string) => said.push(message) > 0;
    const log = { write: () => {} };
    return { said, supervisor: new Supervisor({ notify, watchdogMs: 4, log }) };
  };

  test("hears nothing while the store does not answer, and asks it no second time", async () => {
    const { said, supervisor } = watched();
    const answers: (() => void)[] = [];
    supervisor.ready("https://x", () => new Promise<void>((resolve) => void answers.push(resolve)));
    await until(() => answers.length > 0);
    await Bun.sleep(20);
    expect([said, answers.length]).toEqual([["READY=1\nSTATUS=Serving https://x"], 1]);
    answers[0]?.();
    await until(() => said.includes("WATCHDOG=1"));
    supervisor.stopping();
  });

  test("hears nothing of a server that stops", async () => {
    const { said, supervisor } = watched();
    supervisor.ready("https://x", async () => {});
    await until(() => said.includes("WATCHDOG=1"));
    supervisor.stopping();
    await Bun.sleep(20);
    expect(said.at(-1)).toBe("STOPPING=1\nSTATUS=Stopping");
  });
});
