/** `pkid audit`: events are followed without gap or repeat, exported, and proven from a file. */

import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { eventJson } from "#api/audit.ts";
import { eventFeed, type EventQuery } from "#cli/event-feed.ts";
import { Failure, Refusal } from "#cli/failure.ts";
import { GrowingTable } from "#cli/table.ts";
import { cefLine, rfc5424Line } from "#core/audit/formats.ts";
import { type Answers, shell } from "#test/support/instances/shell.ts";
import { chained } from "#test/support/worlds/audit-chain.ts";

const said = {
  id: "e",
  timestamp: "2026-06-01T12:00:00.000000Z",
  actor: "root",
  action: "cert.issue",
  result: "success",
  actorName: "",
  actorRoles: "",
  tenant: "",
  target: "",
  targetName: "",
  caId: "",
  serial: "",
  detail: "",
  ip: "",
  requestId: "r1",
};
const chain = chained([said, said, said]);
const ndjson = chain.map((event) => `${JSON.stringify(eventJson(event))}\n`).join("");
const folder = () => mkdtempSync(join(tmpdir(), "pkid-audit-"));
const exported =
  (content: BodyInit): Answers =>
  () =>
    new Response(content, {
      headers: { "content-disposition": 'attachment; filename="events.ndjson"' },
    });

describe("audit export", () => {
  test("is one request, whose answer is printed as it is", async () => {
    const line = "audit export --format cef --from 2026-06-01 --to 2026-06-02";
    const { code, stdout, stderr, asked } = await shell(line.split(" "), {
      answers: exported("CEF:0|\n"),
    });
    expect([code, stdout, stderr]).toEqual([0, "CEF:0|\n", ""]);
    expect(asked.map(({ path }) => path)).toEqual([
      "/api/events/export?format=cef&from=2026-06-01&to=2026-06-02",
    ]);
    expect((await shell(["audit", "export", "--format", "csv"])).code).toBe(2);
  });

  test("writes a file that only its owner reads, and says what is in it", async () => {
    const out = join(folder(), "events.ndjson");
    const answers = exported(ndjson);
    const plain = await shell(["audit", "export", "--out", out], { answers });
    expect([plain.code, plain.stdout]).toEqual([0, ""]);
    expect(plain.stderr).toBe(`3 events are in ${out}.\n`);
    expect(readFileSync(out, "utf8")).toBe(ndjson);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const json = await shell(["audit", "export", "--out", out, "--json"], { answers });
    expect(JSON.parse(json.stdout)).toEqual({ out, format: "json", rows: 3 });
  });

  test("takes the place of an earlier export of any format and of nothing else", async () => {
    const home = folder();
    const origin = { host: "h", processId: 1, version: "1", enterpriseId: 1 };
    const lines = [rfc5424Line, cefLine].map((write) =>
      chain.map((event) => `${write(event, origin)}\n`).join(""),
    );
    for (const [at, earlier] of [...lines, ndjson, ""].entries()) {
      const out = join(home, `earlier-${at}`);
      writeFileSync(out, earlier);
      const { code } = await shell(["audit", "export", "--out", out], {
        answers: exported(ndjson),
      });
      expect([code, readFileSync(out, "utf8")]).toEqual([0, ndjson]);
    }
    const other = join(home, "other.json");
    writeFileSync(other, '{"seq":1,"id":"mine"}\n');
    const { code, asked } = await shell(["audit", "export", "--out", other]);
    expect([code, asked, readFileSync(other, "utf8")]).toEqual([1, [], '{"seq":1,"id":"mine"}\n']);
  });

  test("that breaks off leaves what was there, and fails", async () => {
    const home = folder();
    const out = join(home, "events.ndjson");
    const broken = () =>
      new ReadableStream({
        pull: (controller) => {
          controller.enqueue(new TextEncoder().encode(ndjson));
          controller.error(new Error("away"));
        },
      });
    const { code, stderr } = await shell(["audit", "export", "--out", out], {
      answers: exported(broken()),
    });
    expect([code, existsSync(out), readdirSync(home)]).toEqual([1, false, []]);
    expect(stderr).toContain("broke off");
    expect((await shell(["audit", "export"], { answers: exported(broken()) })).code).toBe(1);
  });
});

describe("audit verify --from-file", () => {
  const verified = (text: string, ...flags: string[]) =>
    shell(["audit", "verify", "--from-file", "-", ...flags], { stdin: text });

  test("proves a file and asks no instance", async () => {
    const { code, stdout, asked } = await verified(ndjson);
    expect([code, asked]).toEqual([0, []]);
    expect(stdout).toBe(`3 events, 1 to 3, chain intact, head ${chain[2]?.hash}\n`);
    const part = ndjson.split("\n").slice(1).join("\n");
    expect((await verified(part)).stdout).toContain("What came before event 2 is not proven.\n");
    expect(JSON.parse((await verified(part, "--json")).stdout)).toEqual({
      valid: true,
      events: 2,
      first_seq: 2,
      last_seq: 3,
      head_hash: chain[2]?.hash,
      from_genesis: false,
    });
  });

  test("fails at the first event that was changed, with where it stands", async () => {
    const forged = ndjson.replace(/("seq":2.*"actor":)"root"/, '$1"mallory"');
    const { code, stdout, stderr } = await verified(forged);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe("error: The hash of event 2 in line 2 does not recompute.\n");
    expect(JSON.parse((await verified(forged, "--json")).stderr)).toMatchObject({
      code: "chain_broken",
      valid: false,
      line: 2,
      broken_at_seq: 2,
      reason: "hash",
    });
  });

  test("a file that proves nothing, or is none, is no success, and a server is no part of it", async () => {
    expect((await verified("")).code).toBe(1);
    expect((await shell(["audit", "verify", "--from-file", "/nonexistent"])).stderr).toContain(
      "/nonexistent cannot be read: ENOENT.",
    );
    expect((await verified(ndjson, "--url", "https://ca.example.com")).code).toBe(2);
  });
});

describe("audit list --follow", () => {
  test("needs a server that runs, and is no list of pages", async () => {
    expect((await shell(["audit", "list", "--follow"])).stderr).toContain("needs a server");
    for (const flag of ["--all", "--cursor=x"]) {
      expect((await shell(["audit", "list", "--follow", flag])).code).toBe(2);
    }
  });

  /** A server whose newest event has this number, and what a feed of it tells in some rounds. */
  function feedOf(steps: readonly (() => void)[]) {
    const state = { head: 0, fault: undefined as Error | undefined, growth: 0 };
    const ask = async (_: string, members: EventQuery & { limit?: number; cursor?: string }) => {
      state.head += state.growth;
      if (state.fault !== undefined) throw state.fault;
      const before = Number(members.cursor ?? state.head + 1);
      const limit = members.limit ?? 100;
      const count = Math.min(limit, before - 1);
      const items = Array.from({ length: count }, (_, at) => ({ seq: before - 1 - at }));
      return { items, next_cursor: count < before - 1 ? String(before - count) : "" };
    };
    const told: string[] = [];
    let step = 0;
    const pause = async () => {
      const next = steps[step++];
      if (next === undefined) throw new Error("over");
      next();
    };
    const lost = (error: Error) => void told.push(error.message);
    // As much of a client as a feed asks.
    const feed = (newest?: number) =>
      eventFeed({ client: { ask } as never, pause, lost }, {}, newest);
    return { state, told, feed };
  }

  async function seqsOf(feed: ReturnType<typeof eventFeed>): Promise<readonly number[]> {
    const seqs: number[] = [];
    try {
      for await (const rows of feed) seqs.push(...rows.map(({ seq }) => Number(seq)));
    } catch (error) {
      if (!(error instanceof Error && error.message === "over")) throw error;
    }
    return seqs;
  }
  const range = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at);

  test("begins with the newest, and tells every event once, however many came", async () => {
    const world = feedOf([
      () => {},
      () => (world.state.head = 21),
      () => (world.state.head = 521),
      () => (world.state.head = 522),
      () => (world.state.head = 4000),
    ]);
    world.state.head = 20;
    expect(await seqsOf(world.feed(5))).toEqual(range(16, 4000));
    expect(world.told).toEqual([]);
  });

  test("misses nothing that comes while it looks for what came before", async () => {
    const world = feedOf([
      () => Object.assign(world.state, { head: 2300, growth: 7 }),
      () => (world.state.growth = 0),
    ]);
    world.state.head = 20;
    const seqs = await seqsOf(world.feed(1));
    expect(seqs).toEqual(range(20, world.state.head));
  });

  test("tells what comes later where nothing was at first", async () => {
    const world = feedOf([() => {}, () => (world.state.head = 3)]);
    expect(await seqsOf(world.feed())).toEqual([1, 2, 3]);
  });

  test("goes on when the server is there again, and says once that it was not", async () => {
    const away = new Failure("The server is away.", "unreachable");
    const starting = new Refusal({ code: "draining", error: "It stops." }, 503);
    const busy = new Refusal({ code: "rate_limited", error: "Too many requests." }, 429);
    const world = feedOf([
      () => (world.state.fault = away),
      () => (world.state.fault = starting),
      () => (world.state.fault = busy),
      () => Object.assign(world.state, { fault: undefined, head: 1234 }),
      () => (world.state.fault = away),
    ]);
    world.state.head = 2;
    expect(await seqsOf(world.feed())).toEqual(range(1, 1234));
    expect(world.told).toEqual(["The server is away.", "The server is away."]);
  });

  test("ends where asking again would not help", async () => {
    const gone = new Refusal({ code: "unauthorized", error: "Log in." }, 401);
    const world = feedOf([() => (world.state.fault = gone)]);
    await expect(seqsOf(world.feed())).rejects.toBe(gone);
    const first = feedOf([]);
    first.state.fault = new Failure("The server is away.", "unreachable");
    await expect(seqsOf(first.feed())).rejects.toThrow("away");
  });
});

test("lines that come later stand under the header, and columns only grow", () => {
  const table = new GrowingTable(["seq", "action", "serial"]);
  expect(table.lines([["9", "cert.issue", "1"]])).toBe(
    "SEQ  ACTION      SERIAL\n9    cert.issue  1\n",
  );
  expect(table.lines([["10", "auth.login_failed", "-"]])).toBe("10   auth.login_failed  -\n");
  expect(table.lines([["11", "cert.issue", "2"]])).toBe("11   cert.issue         2\n");
});
