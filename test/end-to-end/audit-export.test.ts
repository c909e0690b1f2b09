/** The audit chain leaves the instance, is proven where there is none, and is followed. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { eachLine, ran } from "#test/support/child.ts";
import { binary, Instance, newHome } from "#test/support/instances/instance.ts";
import { until } from "#test/support/until.ts";

let instance: Instance;
beforeAll(async () => {
  instance = await Instance.start();
  for (const name of ["a", "b", "c"]) await instance.token(["issuer"], { name });
}, 30_000);
afterAll(() => instance?.dispose());

/** A folder with nothing in it, and the binary there without any environment of an instance. */
function elsewhere() {
  const home = newHome();
  const run = (...args: string[]) => ran([binary, ...args], { cwd: home, env: { HOME: home } });
  return { home, run };
}

describe("an export of a real chain", () => {
  test("is proven by its file alone, where there is no instance", async () => {
    const { home, run } = elsewhere();
    const file = join(home, "events.ndjson");
    const { code, stderr } = await instance.cli("audit", "export", "--out", file);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^\d+ events are in /)]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const proven = await run("audit", "verify", "--from-file", file, "--json");
    expect(proven.code).toBe(0);
    expect(JSON.parse(proven.stdout)).toMatchObject({
      valid: true,
      events: lines.length,
      first_seq: 1,
      last_seq: lines.length,
      head_hash: JSON.parse(lines.at(-1) ?? "").hash,
    });
    expect(readdirSync(home)).toEqual(["events.ndjson"]);
  });

  test("is refused with where it was changed, wherever that is", async () => {
    const { home, run } = elsewhere();
    const text = (await instance.cli("audit", "export")).stdout;
    const lines = text.trimEnd().split("\n");
    const at = lines.findIndex((line) => line.includes('"token.create"'));
    expect(at).toBeGreaterThan(0);
    const changed = lines.with(at, (lines[at] ?? "").replace("issuer", "admin!"));
    const copies = [
      [changed, `The hash of event ${at + 1} in line ${at + 1} does not recompute.`],
      [lines.toSpliced(at, 1), `Event ${at + 1} is missing`],
      [[...lines.slice(0, at), (lines[at] ?? "").slice(0, 50)], `Line ${at + 1} is no event`],
    ] as const;
    for (const [copy, sentence] of copies) {
      writeFileSync(join(home, "copy"), copy.join("\n"));
      const { code, stdout, stderr } = await run("audit", "verify", "--from-file", "copy");
      expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(sentence)]);
    }
    const piped = await ran(
      ["bash", "-c", `tail -n +3 copy | ${binary} audit verify --from-file -`],
      { cwd: home, env: { HOME: home } },
    );
    expect(piped.stderr).toContain(`Line ${at - 1} is no event`);
  });

  test("comes as lines of collectors too, and each is an event with its rows", async () => {
    const lines = (await instance.cli("audit", "export", "--format", "rfc5424")).stdout;
    const cef = (await instance.cli("audit", "export", "--format", "cef")).stdout;
    expect(lines).toMatch(/^<110>1 .* pkid \d+ .* \[pkidAudit@32473 seq="1" /);
    expect(cef).toMatch(/^CEF:0\|pkid\|pkid\|/);
    const list = await instance.cli("audit", "list", "--action", "audit.export", "--json");
    const [last] = (JSON.parse(list.stdout) as { items: { detail: string }[] }).items;
    expect(last?.detail).toBe(`kind=events rows=${cef.trimEnd().split("\n").length}`);
  });

  test("through a pipe that closes early ends without a word", async () => {
    const config = join(instance.home, "pkid.yaml");
    const line = `${binary} audit export --config ${config} | head -c 1 > /dev/null; echo $PIPESTATUS`;
    // A short chain fits into the pipe before its reader goes.
    const { stdout, stderr } = await ran(["bash", "-c", line], { cwd: newHome() });
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^[01]\n$/), ""]);
  });

  test("that is interrupted leaves what was there and nothing of the new file", async () => {
    const { home } = elsewhere();
    const old = (await instance.cli("audit", "export")).stdout;
    writeFileSync(join(home, "events"), old);
    // One that goes on for ever.
    const answer = () =>
      new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.from(old)) });
    const headers = { "content-disposition": 'attachment; filename="events.ndjson"' };
    const server = Bun.serve({ port: 0, fetch: () => new Response(answer(), { headers }) });
    const url = `http://127.0.0.1:${server.port}`;
    const line = [binary, "audit", "export", "--out", "events", "--url", url];
    const child = Bun.spawn(line, { cwd: home, env: { HOME: home } });
    await until(() => readdirSync(home).some((name) => name.startsWith(".events.")));
    child.kill("SIGINT");
    await child.exited;
    expect([child.signalCode, readdirSync(home)]).toEqual(["SIGINT", ["events"]]);
    expect(readFileSync(join(home, "events"), "utf8")).toBe(old);
    await server.stop(true);
  });

  test("is not for auditors of a tenant, who are told so", async () => {
    const tenant = await instance.admin<{ id: string }>("POST", "/api/tenants", { slug: "web" });
    const roles = { scope: "tenant", tenant: tenant.id };
    const token = await instance.token(["auditor"], { name: "auditor", ...roles });
    const headers = { authorization: `Token ${token}` };
    expect((await instance.fetch("/api/events?limit=1", { headers })).status).toBe(200);
    const refused = await instance.fetch("/api/events/export", { headers });
    expect([refused.status, (await refused.json()).code]).toEqual([403, "forbidden"]);
    const wrong = await instance.fetch("/api/events/export?format=csv", { headers });
    expect(wrong.status).toBe(403);
  });
});

describe("`audit list --follow`", () => {
  function following(...flags: string[]) {
    const config = join(instance.home, "pkid.yaml");
    const child = Bun.spawn([binary, "audit", "list", "--follow", "--config", config, ...flags], {
      env: { HOME: instance.home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, err]: [string[], string[]] = [[], []];
    void eachLine(child.stdout, (line) => out.push(line));
    void eachLine(child.stderr, (line) => err.push(line));
    return { child, out, err };
  }

  test("sees what other commands cause, across a restart, once each and in order", async () => {
    const { child, out, err } = following("--action", "token.*", "--json", "--limit", "2");
    const names = () => out.map((line) => JSON.parse(line).target_name);
    await until(() => out.length === 2);
    await instance.token(["issuer"], { name: "seen" });
    await until(() => out.length === 3);
    await instance.stop();
    await until(() => err.length > 0);
    instance = await Instance.start({ home: instance.home });
    for (const name of ["x", "y"]) await instance.token(["issuer"], { name });
    await until(() => out.length >= 5);
    expect(names().slice(2)).toEqual(["seen", "x", "y"]);
    const seqs = out.map((line) => Number(JSON.parse(line).seq));
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    expect(err).toHaveLength(1);
    child.kill("SIGINT");
    await child.exited;
    expect([child.exitCode, child.signalCode]).toEqual([null, "SIGINT"]);
  }, 60_000);

  test("has the columns of the list, and ends with its reader though nothing happens", async () => {
    const config = join(instance.home, "pkid.yaml");
    const line = `${binary} audit list --follow --limit 3 --config ${config} | head -n 2; echo $PIPESTATUS`;
    const { stdout, stderr } = await ran(["bash", "-c", line], { cwd: newHome() });
    expect(stdout).toMatch(/^SEQ +TIMESTAMP +ACTOR +ACTION +RESULT +TARGET +SERIAL\n\d+ .*\n1\n$/);
    expect(stderr).toBe("");
  }, 30_000);
});
