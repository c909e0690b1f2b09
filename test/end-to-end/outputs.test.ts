/**
 * What the binary writes arrives whole or the command fails: slow readers, closed pipes and full
 * devices.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

import { ran } from "#test/support/child.ts";
import { binary, Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";

const cas = Array.from({ length: 5000 }, (_, at) => ({
  id: crypto.randomUUID(),
  label: `ca-${at}`,
  status: "active",
  subject: `CN=CA ${at}, O=${"Example ".repeat(20)}`,
}));
let server: ReturnType<typeof answering>;
beforeAll(() => {
  server = answering();
});
afterAll(async () => {
  await server.stop(true);
});

/** A line of the shell in which $PKID is a list of more than a megabyte. */
const line = async (script: string) => {
  const list = `${binary} ca list --json --url http://127.0.0.1:${server.port}`;
  return ran(["bash", "-c", script.replaceAll("$PKID", list)], { cwd: newHome() });
};

test("a slow reader gets every octet of more than a megabyte", async () => {
  const { stdout } = await line("$PKID | { sleep 1; wc -c; }");
  const octets = JSON.stringify({ items: cas }).length + 1;
  expect(octets).toBeGreaterThan(1_000_000);
  expect(Number(stdout)).toBe(octets);
});

test("a pipe that was told not to block gets every octet too", async () => {
  const nonBlocking = `python3 -c 'import os,sys; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])'`;
  const { stdout } = await line(`${nonBlocking} $PKID | { sleep 1; wc -c; }`);
  expect(Number(stdout)).toBe(JSON.stringify({ items: cas }).length + 1);
});

test("a full device is exit 1 with a sentence, for short and long results", async () => {
  for (const command of ["$PKID", `${binary} --version`, `${binary} --help`]) {
    const { code, stderr } = await line(`${command} > /dev/full`);
    expect(code).toBe(1);
    expect(stderr).toContain("Standard output cannot be written: ENOSPC.");
  }
});

test("where exit 1 is an answer, a full device is exit 2", async () => {
  const home = newHome();
  const config = writeConfig(home, {});
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout a.key";
  const made = `openssl req -x509 ${key} -subj /CN=a -days 90 -out a.pem`;
  expect((await ran(made.split(" "), { cwd: home })).code).toBe(0);
  for (const words of ["cert needs-renewal a.pem", `preflight --no-network --config ${config}`]) {
    const script = `${binary} ${words} > /dev/full`;
    const { code, stderr } = await ran(["bash", "-c", script], { cwd: home });
    expect([words, code, stderr]).toEqual([words, 2, expect.stringContaining("ENOSPC")]);
  }
});

test("a reader that goes away ends the command without a word and not as a success", async () => {
  const { stdout, stderr } = await line("$PKID | head -c 1 > /dev/null; echo $PIPESTATUS");
  expect({ stdout, stderr }).toEqual({ stdout: "1\n", stderr: "" });
});

test("the reports of preflight and db check fit a terminal of 80 columns, and are whole in a pipe", async () => {
  for (const [home, words] of [
    [withoutDatabase(), ["preflight", "--no-network"]],
    [await withAnOddRow(), ["db", "check"]],
  ] as const) {
    const env = { HOME: home, TERM: "dumb", NO_COLOR: "1", PKID_NO_SUCH_SETTING_OF_ANYBODY: "1" };
    const argv = [binary, ...words, "--config", `${home}/pkid.yaml`];
    let shown = "";
    const child = Bun.spawn(argv, {
      cwd: home,
      env,
      terminal: {
        cols: 80,
        rows: 24,
        data: (_, octets) => {
          shown += Buffer.from(octets).toString();
        },
      },
    });
    await child.exited;
    child.terminal?.close();
    expect(shown.split(/\r?\n/).filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
    const piped = (await ran(argv, { cwd: home, env })).stdout;
    const wide = piped.split("\n").filter((line) => Bun.stringWidth(line) > 80);
    expect(wide.length).toBeGreaterThan(0);
    // A path may be broken where no blank is, and figures change from one look to the next.
    const flat = (text: string) => text.replace(/[\s\d]+/g, "");
    for (const line of wide) expect(flat(shown)).toContain(flat(line));
  }
}, 60_000);

/** A home whose database is none. */
function withoutDatabase(): string {
  const home = newHome();
  writeConfig(home, {});
  mkdirSync(`${home}/data`, { mode: 0o700 });
  writeFileSync(`${home}/data/pkid.db`, "no database\n", { mode: 0o600 });
  return home;
}

/** A home whose database has a row that no pkid writes. */
async function withAnOddRow(): Promise<string> {
  const instance = await Instance.start();
  await instance.stop();
  const database = new Database(`${instance.dataDir}/pkid.db`);
  database.run("update tenants set status = 'odd'");
  database.close();
  return instance.home;
}

test("an error that cannot be told is still an exit code", async () => {
  expect((await line("$PKID --limit x 2> /dev/full")).code).toBe(2);
});

test("the server stops with its last word in a log nobody has read yet", async () => {
  const home = newHome();
  const config = writeConfig(home, {});
  const script = `${binary} serve --config ${config} > out 2> >(sleep 4; tail -n 1 > last) & server=$!
    until [ -S data/admin.sock ]; do sleep 0.05; done; kill $server; wait $server; code=$?; until [ -s last ]; do sleep 0.1; done; exit $code`;
  expect((await ran(["bash", "-c", script], { cwd: home })).code).toBe(0);
  expect(JSON.parse(readFileSync(`${home}/last`, "utf8"))).toMatchObject({ msg: "stopped" });
});

test("a server whose standard output is full serves and says so in its log", async () => {
  const home = newHome();
  const config = writeConfig(home, {});
  const script = `${binary} serve --config ${config} > /dev/full 2> log & server=$!
    until grep -q '"msg":"ready"' log; do sleep 0.05; done; kill $server; wait $server`;
  expect((await ran(["bash", "-c", script], { cwd: home })).code).toBe(0);
  expect(readFileSync(`${home}/log`, "utf8")).toContain('"msg":"output_lost"');
});

const answering = () =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json({ items: cas }),
  });
