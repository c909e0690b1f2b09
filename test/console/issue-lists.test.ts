/** What the page for issuing reads and writes without a server: names, lists, archives, files. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { csr } from "#test/support/worlds/issuance.ts";
import { csvText, parseCsv } from "#web/pages/issue/csv.ts";
import { fileStem } from "#web/pages/issue/file-names.ts";
import { commonNameFor, readName } from "#web/pages/issue/names.ts";
import { listText, rowsIn, templateText } from "#web/pages/issue/rows.ts";
import { zip } from "#web/pages/issue/zip.ts";

const pem = csr();
/** The same without armour. */
const bare = pem.replace(/-----[^-]+-----|\n/g, "");

describe("a name that is typed", () => {
  // biome-ignore format: the table is read by column.
  const readable = [
    ["www.example.com",         "dns",   "www.example.com"],
    ["WWW.Example.COM.",        "dns",   "www.example.com"],
    ["bücher.example",          "dns",   "xn--bcher-kva.example"],
    ["*.example.com",           "dns",   "*.example.com"],
    ["*.corp",                  "dns",   "*.corp"],
    ["_dmarc.example.com",      "dns",   "_dmarc.example.com"],
    ["localhost",               "dns",   "localhost"],
    ["192.0.2.7",               "ip",    "192.0.2.7"],
    ["[2001:DB8::0:1]",         "ip",    "2001:db8::1"],
    ["a.b+c@Example.com",       "email", "a.b+c@example.com"],
    ["spiffe://example.org/a",  "uri",   "spiffe://example.org/a"],
  ] as const;

  test.each(readable)("%s is read as %s %s", (typed, kind, value) => {
    expect(readName(typed)).toMatchObject({ ok: true, name: { kind, value } });
  });

  test.each([
    "a..example",
    "-a.example",
    "a-.example",
    "bad!name.example",
    "a.*.example",
    "*",
    "127.1",
    "a.example:443",
    "a.example/path",
    "@example.com",
    "a@",
    "a@*.example.com",
    "https://a b",
    "<script>",
    `${"a".repeat(64)}.example`,
    "x".repeat(10_000),
    "\u202ea.example",
  ])("%s is none, and it is said why", (typed) => {
    const read = readName(typed);
    expect(read.ok).toBe(false);
    expect("fault" in read && read.fault.length).toBeGreaterThan(20);
  });

  test("stands for the common name where none is typed and it fits", () => {
    const long = { kind: "dns", value: `${"a".repeat(60)}.example` } as const;
    const short = { kind: "dns", value: "b.example" } as const;
    expect(commonNameFor("", [long, short])).toBe("b.example");
    expect(commonNameFor(" me ", [short])).toBe("me");
    expect(commonNameFor("", [long])).toBe("");
  });
});

describe("a list", () => {
  test("is read as spreadsheets write it, with line breaks, quotes and either separator", () => {
    const { columns, rows } = parseCsv('\uFEFFRef;Names\r\n"a;b";"x ""y""\r\nz"\r\n\r\nc;d;e\r\n');
    expect(columns).toEqual(["ref", "names"]);
    expect(rows).toEqual([
      { line: 2, cells: { ref: "a;b", names: 'x "y"\r\nz' }, surplus: 0 },
      { line: 5, cells: { ref: "c", names: "d" }, surplus: 1 },
    ]);
  });

  test("comes back as it was written", () => {
    const cell = fc.string({ unit: fc.constantFrom("a", '"', ",", ";", "\n", "\t", "=", "é") });
    const filled = cell.filter((text) => text.trim() !== "").map((text) => text.trim());
    fc.assert(
      fc.property(fc.array(fc.record({ a: filled, b: filled }), { minLength: 1 }), (rows) => {
        const read = parseCsv(csvText(["a", "b"], rows)).rows;
        expect(read.map(({ cells }) => cells)).toEqual(rows);
      }),
    );
  });

  test("says of each row what is wrong with it, and of itself as a whole", () => {
    const rows = rowsIn(
      `ref,csr,names,key_type,validity_days\n` +
        `a,"${pem}",,,\na,,b.example,,\n,,b!c.example,,\nc,%%%,,,\nd,,,,\ne,,e.example,dsa,\n` +
        `f,,f.example,,0\ng,-----BEGIN PRIVATE KEY-----,,,\nh,,h.example,,,,\n`,
    );
    expect(Array.isArray(rows) && rows.map((row) => "fault" in row && row.fault)).toEqual([
      false,
      "Line 2 has the same ref.",
      "b!c.example: The label b!c has more than letters, digits, hyphens, underscores.",
      "csr: This is not a certification request in PEM or base64. Nothing was sent.",
      "The row has neither a request nor a name.",
      "key_type is none of those a browser makes.",
      "validity_days is no number.",
      "csr has a private key in it: it stays here, and nothing was sent.",
      "The row has more cells than the header.",
    ]);
    expect(rowsIn("ref,csr\n")).toBe("There is no row below a header.");
    expect(rowsIn("ref,cst\na,b\n")).toBe("There is no column cst; see which there are.");
    const many = Array.from({ length: 501 }, (_, at) => `n${at}.example\n`).join("");
    expect(rowsIn(`names\n${many}`)).toBe(
      "Keys for 500 rows at most are made at a time, and 501 want one.",
    );
  });

  test("with requests is the same list when it is saved and read again", () => {
    const rows = rowsIn(`ref,csr,profile,validity_days\na,"${pem}",client,9\nb,${bare},,\n`);
    if (typeof rows === "string") throw new Error(rows);
    const again = rowsIn(listText(rows));
    if (typeof again === "string") throw new Error(again);
    const said = (row: (typeof rows)[number]) => ({ ...row, line: 0 });
    expect(again.map(said)).toEqual(rows.map(said));
  });

  test("has a template that can be read", () => {
    const rows = rowsIn(templateText());
    // The second is there to be replaced: nothing that is no request is sent.
    expect(Array.isArray(rows) && rows.map(({ kind }) => kind)).toEqual(["names", "faulty"]);
  });
});

test("an archive is one that unzip takes, with its check sums", async () => {
  const octets = new TextEncoder().encode("hello");
  const file = `${process.env.TMPDIR ?? "/tmp"}/pkid-${crypto.randomUUID()}.zip`;
  await Bun.write(
    file,
    zip([
      { name: "ä/b.txt", octets },
      { name: "c", octets: new Uint8Array() },
    ]),
  );
  const tested = Bun.spawnSync(["python3", "-m", "zipfile", "-t", file]);
  await Bun.file(file).delete();
  expect(tested.stdout.toString()).toContain("Done testing");
  expect(tested.exitCode).toBe(0);
});

test("names of files are names everywhere", () => {
  expect(fileStem("*.example.com")).toBe("star.example.com");
  expect(fileStem("../../etc/passwd")).toBe("etc_passwd");
  expect(fileStem("<>")).toBe("certificate");
  expect(fileStem("x".repeat(300)).length).toBe(80);
});
