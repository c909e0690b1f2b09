/** Preflight looks at every socket that is configured, not at that of the shell alone. */

import { expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";

import { Instance, newHome } from "#test/support/instances/instance.ts";
import { said } from "#test/support/instances/preflight.ts";

test("a main socket that is looser than configured warns, and one that is as configured is named", async () => {
  const home = newHome();
  const path = join(home, "main.sock");
  const config = { server: { unix_socket: { path, mode: "0660" } } };
  const instance = await Instance.start({ home, config });
  try {
    const sound = await said(home, "listener.sockets");
    expect(sound).toMatchObject({
      status: "pass",
      detail: expect.stringContaining(`${path} answers, with mode 660.`),
    });
    chmodSync(path, 0o666);
    expect(await said(home, "listener.sockets")).toMatchObject({
      status: "warn",
      detail: `${path} has mode 666 instead of 660.`,
    });
  } finally {
    await instance.dispose();
  }
}, 30_000);
