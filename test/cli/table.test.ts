/** Tables fit the terminal they are shown on, and lose nothing in a pipe. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { runCli } from "#cli/cli.ts";
import { columns, jsonFor, namesOf, printable } from "#cli/rows.ts";
import { Table } from "#cli/table.ts";

const serial = "123456789012345678901234567890123456789";
const rows = [
  {
    serial,
    profile: "server",
    status: "good",
    subject: `CN=${"long ".repeat(20)}`,
    not_after: "2027-01-02T03:04:05Z",
  },
  {
    serial: "7",
    profile: "server",
    status: "revoked",
    subject: "CN=b",
    not_after: "2027-01-02T03:04:05Z",
  },
];
const keys = ["serial", "profile", "status", "subject", "not_after"] as const;
const widest = (text: string) => Math.max(...text.split("\n").map((line) => Bun.stringWidth(line)));

test("a list of certificates fits 80 columns, and its serials are whole", () => {
  const fitted = columns(rows, keys).fitted(80);
  expect(widest(fitted)).toBeLessThanOrEqual(80);
  expect(fitted).toContain(serial);
  expect(fitted).toContain("2027-01-02 ".trim());
  expect(fitted).not.toContain("03:04:05");
  expect(fitted.split("\n")).toHaveLength(4);
});

test("JSON on a terminal is the same document without what could drive it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (subject) => {
      const row = { subject: `${subject}\u009b2J\u202e` };
      const shown = jsonFor({ isTerminal: true }, row);
      expect(JSON.parse(shown)).toEqual(row);
      expect(printable(shown)).toBe(shown);
      expect(jsonFor({ isTerminal: false }, row)).toBe(JSON.stringify(row));
    }),
  );
});

test("a list of CAs, whose ids leave no room, is a block of lines for each", () => {
  const id = crypto.randomUUID();
  const ca = {
    id,
    label: "issuing-1",
    status: "active",
    subject: `CN=${"x".repeat(60)}`,
    not_after: "2027-01-02T03:04:05Z",
    key_type: "ecdsa-p256",
    provider: "software",
  };
  const fitted = columns([ca, ca], namesOf(ca)).fitted(80);
  expect(widest(fitted)).toBeLessThanOrEqual(80);
  expect(fitted).toContain(`id:        ${id}\nlabel:     issuing-1\n`);
});

test("what fits is shown as it is, and so is everything in a pipe", () => {
  const small = columns([{ id: "1", at: "2027-01-02T03:04:05Z" }], ["id", "at"]);
  expect(small.fitted(80)).toBe(String(small));
  expect(String(columns(rows, keys))).toContain("long ".repeat(20).trim());
});

test("a table is never wider than the terminal, but for what is never cut", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          fc.string({ maxLength: 90 }),
          fc.string({ unit: "grapheme", maxLength: 90 }),
          fc.string({ maxLength: 30 }),
        ),
      ),
      fc.integer({ min: 40, max: 120 }),
      (cells, width) => {
        const clean = cells.map((row) =>
          row.map((cell) => cell.replace(/[\p{Cc}\p{Cf}\p{Z}\p{M}\p{So}\p{Sk}]/gu, "x")),
        );
        const table = new Table(["subject", "detail", "status"], clean);
        expect(widest(table.fitted(width))).toBeLessThanOrEqual(width);
      },
    ),
  );
});

describe("a command", () => {
  const lines = async (width: number | undefined) => {
    const written: string[] = [];
    const output = { write: (text: string | Uint8Array) => void written.push(String(text)) };
    const stdout = { ...output, isTerminal: width !== undefined, columns: width };
    const io = {
      stdout,
      stderr: { write: () => {}, isTerminal: false },
      isAbandoned: () => false,
      env: {},
      stdin: async () => new Uint8Array(),
      stdinPieces: async function* () {},
      ask: undefined,
    };
    const app = { fetch: async () => Response.json({ items: rows }), close: async () => undefined };
    // Nothing else is called.
    const deps = { open: async () => app } as unknown as Parameters<typeof runCli>[2];
    const argv = ["cert", "list", "--ca", crypto.randomUUID(), "--data-dir", "/nonexistent"];
    expect(await runCli(argv, io, deps)).toBe(0);
    return written.join("");
  };

  test("fits its table to the terminal and leaves it whole in a pipe", async () => {
    expect(widest(await lines(80))).toBeLessThanOrEqual(80);
    expect(widest(await lines(undefined))).toBeGreaterThan(80);
  });
});
