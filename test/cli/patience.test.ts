/**
 * Work that cannot say how far it has come says at least that it goes on: counted on a terminal, by
 * the line elsewhere.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { Client } from "#cli/client.ts";
import { patiently } from "#cli/progress.ts";
import { ran } from "#test/support/child.ts";
import { binary } from "#test/support/instances/instance.ts";

const pace = { firstMs: 10, thenMs: 10 };
const output = (isTerminal: boolean) => {
  const written: string[] = [];
  const write = (content: string | Uint8Array) => void written.push(String(content));
  return { written, stderr: { write, isTerminal } };
};

test("a pipe gets a line at a time, a terminal one line that is drawn anew and wiped away", async () => {
  const [pipe, terminal] = [output(false), output(true)];
  expect(
    await patiently(
      pipe,
      Bun.sleep(60).then(() => "done"),
      pace,
    ),
  ).toBe("done");
  expect(
    await patiently(
      terminal,
      Bun.sleep(60).then(() => "done"),
      pace,
    ),
  ).toBe("done");
  expect(pipe.written.length).toBeGreaterThan(1);
  for (const line of pipe.written) expect(line).toMatch(/^Working for \d s\.\n$/);
  for (const line of terminal.written.slice(0, -1)) expect(line).toMatch(/^\rWorking for \d s$/);
  expect(terminal.written.at(-1)).toBe("\r\u001b[K");
});

test("nothing is said of what is done at once, nor after it has failed", async () => {
  const { written, stderr } = output(true);
  expect(await patiently({ stderr }, Promise.resolve(1), pace)).toBe(1);
  await expect(patiently({ stderr }, Promise.reject(new Error("no")), pace)).rejects.toThrow("no");
  await Bun.sleep(40);
  expect(written).toEqual([]);
});

test("every request of a command is waited for like that, but of work that tells more itself", async () => {
  let waits = 0;
  const send = async () => Response.json({ total: 1 });
  const reach = { way: "socket", send, close: async () => undefined } as const;
  const patient = <T>(work: Promise<T>) => {
    waits += 1;
    return work;
  };
  const client = new Client(async () => reach, { patiently: patient });
  await client.ask("ca.list");
  expect(waits).toBe(1);
  await client.fetch("ca.list");
  expect(waits).toBe(3);
  await client.untold().ask("ca.list");
  expect(waits).toBe(3);
});

let slow: ReturnType<typeof Bun.serve>;
beforeAll(() => {
  const fetch = async () => {
    await Bun.sleep(2600);
    return Response.json({ items: [], total: 0, has_more: false });
  };
  slow = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
});
afterAll(() => slow.stop(true));

test("on a real terminal the seconds are counted and gone with the answer; into a pipe nothing of them comes so soon", async () => {
  const line = `${binary} ca list --url http://127.0.0.1:${slow.port} --token pkid_x`;
  const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent", TERM: "xterm" };
  const [drawn, quiet, piped] = await Promise.all([
    ran(["script", "-qec", line, "/dev/null"], { env }),
    ran(["script", "-qec", `${line} --quiet`, "/dev/null"], { env }),
    ran(line.split(" "), { env }),
  ]);
  expect([drawn.code, drawn.stdout]).toEqual([0, expect.stringContaining(" s\r\u001b[K")]);
  const seconds = [...drawn.stdout.matchAll(/\rWorking for (\d+) s/g)].map(([, n]) => Number(n));
  // A busy machine may leave one out, or take longer than the response.
  expect(seconds).toEqual(seconds.toSorted((one, other) => one - other));
  expect(seconds.at(-1)).toBeGreaterThanOrEqual(2);
  expect(quiet.stdout).not.toContain("Working");
  expect([piped.code, piped.stderr]).toEqual([0, ""]);
}, 20_000);
