/** An exported chain is proven by its file alone, and nothing in it can be changed unnoticed. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { type AuditEvent, eventHash } from "#core/audit/chain.ts";
import { chainLineOctetsMax, verifyChainFile } from "#core/audit/chain-file.ts";
import { eventTexts, textsOf } from "#core/audit/members.ts";
import { anySaid, chained } from "#test/support/worlds/audit-chain.ts";

type Line = Readonly<Record<string, unknown>>;

const anyChain = fc.array(anySaid, { minLength: 3, maxLength: 8 }).map((all) => chained(all));
const lineOf = (event: AuditEvent): Line => ({
  seq: event.seq,
  ...Object.fromEntries(textsOf(event)),
});
const written = (lines: readonly Line[]) =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join("");

async function* inPieces(text: string | Uint8Array, size = 1_000_000) {
  const octets = Buffer.from(text);
  for (let at = 0; at < octets.length; at += size) yield octets.subarray(at, at + size);
}
const verified = (text: string | Uint8Array, size?: number) =>
  verifyChainFile(inPieces(text, size));
const verifiedLines = (lines: readonly Line[]) => verified(written(lines));

describe("whatever the events say", () => {
  test("the file of a whole chain is proven, however it is cut into pieces", async () => {
    await fc.assert(
      fc.asyncProperty(anyChain, fc.integer({ min: 1, max: 3000 }), async (chain, size) => {
        const last = chain.at(-1);
        expect(await verified(written(chain.map(lineOf)), size)).toEqual({
          valid: true,
          events: chain.length,
          firstSeq: 1,
          head: { seq: chain.length, hash: last?.hash ?? "" },
        });
      }),
    );
  });

  test("any other value of any member but the request id is found where it stands", async () => {
    const members = ["seq", ...Object.values(eventTexts)].filter((name) => name !== "request_id");
    const other = fc.oneof(fc.string(), fc.constant(undefined), fc.integer(), fc.constant(null));
    await fc.assert(
      fc.asyncProperty(
        anyChain,
        fc.nat(),
        fc.constantFrom(...members),
        other,
        async (chain, where, name, value) => {
          const lines = chain.map(lineOf);
          const at = where % lines.length;
          fc.pre(lines[at]?.[name] !== value);
          const edited = lines.with(at, { ...lines[at], [name]: value });
          const verdict = await verifiedLines(edited);
          // The first event of a file may have any number: then the second one does not follow it.
          const places = at === 0 && name === "seq" ? [1, 2] : [at + 1];
          expect(verdict.valid).toBe(false);
          expect(places).toContain(verdict.valid ? 0 : verdict.line);
        },
      ),
    );
  });

  test("a text moved from one member to another is found", async () => {
    const names = ["actor_name", "tenant", "target", "target_name", "ca_id", "serial", "ip"];
    await fc.assert(
      fc.asyncProperty(
        anyChain,
        fc.uniqueArray(fc.constantFrom(...names), { minLength: 2, maxLength: 2 }),
        async (chain, [from = "", to = ""]) => {
          const lines = chain.map(lineOf);
          const line = { ...lines[1] };
          fc.pre(line[from] !== undefined && line[to] === undefined);
          line[to] = line[from];
          delete line[from];
          const verdict = await verifiedLines(lines.with(1, line));
          expect(verdict).toMatchObject({ valid: false, line: 2, brokenAtSeq: 2, reason: "hash" });
        },
      ),
    );
  });

  test("a line that is taken out, put twice or changed with another is found", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyChain,
        fc.nat(),
        fc.constantFrom("out", "twice", "swap"),
        async (chain, where, attack) => {
          const lines = chain.map(lineOf);
          // Of the last line taken out only the head tells, and of the first that it is missing.
          const at = 1 + (where % (lines.length - 2));
          const [line, next] = [lines[at] ?? {}, lines[at + 1] ?? {}];
          const attacked =
            attack === "out"
              ? lines.toSpliced(at, 1)
              : attack === "twice"
                ? lines.toSpliced(at, 0, line)
                : lines.toSpliced(at, 2, next, line);
          expect(await verifiedLines(attacked)).toMatchObject({
            valid: false,
            line: attack === "twice" ? at + 2 : at + 1,
            brokenAtSeq: attack === "twice" ? at + 2 : at + 1,
            reason: "gap",
          });
        },
      ),
    );
  });

  test("a file that is cut off within a line is found", async () => {
    await fc.assert(
      fc.asyncProperty(anyChain, fc.nat(), async (chain, where) => {
        const octets = Buffer.from(written(chain.map(lineOf)));
        const cut = octets.subarray(0, 1 + (where % (octets.length - 1)));
        // A line is whole with its brace already.
        fc.pre(![0x0a, 0x7d].includes(cut.at(-1) ?? 0));
        const line = [...cut].filter((octet) => octet === 0x0a).length + 1;
        expect(await verified(cut)).toMatchObject({ valid: false, line, reason: "unreadable" });
      }),
    );
  });
});

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
  targetName: "\ufffd",
  caId: "",
  serial: "",
  detail: "",
  ip: "",
  requestId: "r1",
};
const three = chained([said, said, said]).map(lineOf);

test("a file that begins later proves what it holds, and names its first event", async () => {
  expect(await verifiedLines(three.slice(1))).toMatchObject({
    valid: true,
    events: 2,
    firstSeq: 2,
    head: { seq: 3, hash: three[2]?.hash },
  });
});

test("a first event that was linked to something before it is no beginning", async () => {
  const forged = { ...said, seq: 1, prevHash: "ab".repeat(32) };
  const line = { ...three[0], prev_hash: forged.prevHash, hash: eventHash(forged) };
  expect(await verifiedLines([line])).toMatchObject({ valid: false, reason: "link" });
});

test("an empty file holds no events", async () => {
  expect(await verified("")).toMatchObject({ valid: true, events: 0, firstSeq: 0 });
});

test("a file of another writer is read, with blanks and without a last line feed", async () => {
  const spaced = three.map((line) => JSON.stringify(line, undefined, " ").replaceAll("\n", ""));
  expect(await verified(spaced.join("\r\n"))).toMatchObject({ valid: true, events: 3 });
});

test.each([
  ["a member that is in no hash", '"note":"x",'],
  ["a name twice", '"actor":"mallory",'],
  ["a name twice, once with an escape", '"\\u0061ctor":"mallory",'],
  ["an empty text for an absent one", '"ip":"",'],
  ["a name of every object for a member", '"__proto__":{"ip":"x"},'],
])("%s is refused", async (_, member) => {
  const line = JSON.stringify(three[1]).replace("{", `{${member}`);
  const text = [JSON.stringify(three[0]), line, JSON.stringify(three[2])].join("\n");
  expect(await verified(text)).toMatchObject({ valid: false, line: 2, reason: "unreadable" });
});

test.each([
  [
    "half a character, which is hashed as the sign for it",
    written(three).replace("\ufffd", "\\ud800"),
  ],
  ["octets that are no text", Buffer.from(written(three), "latin1")],
  ["a blank line", `\n${written(three)}`],
  ["a list", `[${JSON.stringify(three[0])}]\n`],
  ["a line without end", `{"seq":1,"detail":"${"a".repeat(chainLineOctetsMax)}`],
  ["a long line", `{"seq":1,"detail":"${"a".repeat(chainLineOctetsMax)}"}\n`],
])("%s is no event", async (_, text) => {
  const verdict = await verified(text, 100_000);
  expect(verdict).toMatchObject({ valid: false, line: 1, reason: "unreadable" });
});

test("a request id, which no hash binds, may be another", async () => {
  const lines = three.map((line) => ({ ...line, request_id: "another" }));
  expect(await verifiedLines(lines)).toMatchObject({ valid: true });
});
