/**
 * Holds the import rules against small samples of what they must refuse, and then against our own
 * tree.
 */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { once } from "#core/once.ts";
import { dependencyFindings } from "#scripts/dependency-rules.ts";
import { rendered } from "#scripts/lib/source-tree.ts";
import { parseEachSample, parseOurs, parseSamples } from "#test/support/samples.ts";

const { imports } = await Bun.file(join(import.meta.dir, "../package.json")).json();

test("the tree keeps every import rule", async () => {
  expect(dependencyFindings(await parseOurs(), imports).map(rendered)).toEqual([]);
});

describe("an import is refused", () => {
  // Columns: what is wrong, the importing file, its import, words of the finding.
  // biome-ignore format: the table is read by column.
  const refusals = [
    ["core imports domain",                  "src/core/a.ts",               'import { b } from "#domain/b.ts"',                "core may not import domain"],
    ["core imports a type of domain",        "src/core/a.ts",               'import type { B } from "#domain/b.ts"',           "core may not import domain"],
    ["core imports an inline type",          "src/core/a.ts",               'export type A = import("#domain/b.ts").B',        "core may not import domain"],
    ["core imports lazily",                  "src/core/a.ts",               'export const b = () => import("#domain/b.ts")',   "core may not import domain"],
    ["core talks to the runtime",            "src/core/a.ts",               'import { sign } from "node:crypto"',              "core may not import the runtime"],
    ["core uses a framework",                "src/core/a.ts",               'import { Hono } from "hono"',                     "the package hono"],
    ["operations imports domain",            "src/operations.ts",           'import { b } from "#domain/b.ts"',                "operations may not import domain"],
    ["domain imports an adapter",            "src/domain/a.ts",             'import { b } from "#adapters/db/b.ts"',           "domain may not import adapters/db"],
    ["domain opens files",                   "src/domain/a.ts",             'import { readFileSync } from "node:fs"',          "domain may not import the runtime"],
    ["an adapter imports another",           "src/adapters/db/a.ts",        'import { b } from "#adapters/keys/b.ts"',         "adapters/db may not import adapters/keys"],
    ["an adapter imports http",              "src/adapters/db/a.ts",        'import { b } from "#http/b.ts"',                  "adapters/db may not import http"],
    ["an adapter loads the configuration",   "src/adapters/db/a.ts",        'import { load } from "#config/load.ts"',          "only its section"],
    ["a protocol imports another",           "src/protocols/ocsp.ts",       'import { b } from "#protocols/crl.ts"',           "protocols/ocsp may not import protocols/crl"],
    ["a protocol imports an adapter",        "src/protocols/acme/a.ts",     'import { b } from "#adapters/db/b.ts"',           "protocols/acme may not import adapters/db"],
    ["api imports an adapter",               "src/api/a.ts",                'import { b } from "#adapters/db/b.ts"',           "api may not import adapters/db"],
    ["jobs imports http",                    "src/jobs/a.ts",               'import { b } from "#http/b.ts"',                  "jobs may not import http"],
    ["http imports api",                     "src/http/a.ts",               'import { b } from "#api/b.ts"',                   "http may not import api"],
    ["config imports domain",                "src/config/a.ts",             'import { b } from "#domain/b.ts"',                "config may not import domain"],
    ["api imports the composition root",     "src/api/a.ts",                'import { b } from "#app"',                        "api may not import app"],
    ["web takes a value of api",             "web/a.ts",                    'import { b } from "#api/b.ts"',                   "only types of api"],
    ["cli takes a value of api",             "src/cli/a.ts",                'import { b } from "#api/b.ts"',                   "cli may import only types of api"],
    ["cli takes a value beside a type",      "src/cli/a.ts",                'import { b, type C } from "#api/b.ts"',           "cli may import only types of api"],
    ["web imports domain",                   "web/a.ts",                    'import type { B } from "#domain/b.ts"',           "web may not import domain"],
    ["SQL leaves the database adapter",      "src/adapters/keys/a.ts",      'import { Database } from "bun:sqlite"',           "only adapters/db"],
    ["drizzle leaves the database adapter",  "src/adapters/telemetry/a.ts", 'import { sql } from "drizzle-orm"',               "the package drizzle-orm"],
    ["PKCS#11 leaves the keys adapter",      "src/adapters/db/a.ts",        'import { PKCS11 } from "pkcs11js"',               "the package pkcs11js"],
    ["hono is used outside http",            "src/api/a.ts",                'import { Hono } from "hono"',                     "the package hono"],
    ["metrics are counted in domain",        "src/domain/a.ts",             'import { Counter } from "prom-client"',           "the package prom-client"],
    ["a noun imports a higher one",          "src/domain/access/a.ts",      'import { b } from "#domain/certificates/b.ts"',   "access stands below certificates"],
    ["a noun imports a type of a higher one", "src/domain/audit/a.ts",      'import type { B } from "#domain/access/b.ts"',    "audit stands below access"],
    ["a file below all nouns imports one",   "src/domain/actor.ts",         'import type { B } from "#domain/access/b.ts"',    "stands below all nouns"],
    ["the store knows more than ports",      "src/domain/store.ts",         'import type { B } from "#domain/audit/b.ts"',     "stands below all nouns"],
    ["the store takes a value of a port",    "src/domain/store.ts",         'import { b } from "#domain/audit/store.ts"',      "stands below all nouns"],
    ["a noun nobody has placed",             "src/domain/weather/a.ts",     'import { b } from "#domain/audit/b.ts"',          "has no place in the order"],
    ["a ticket is made outside signing",     "src/domain/a/b.ts",           'import { ticketOf } from "#domain/signing/ticket.ts"', "nobody else may import ticketOf"],
    ["a ticket is made under another name",  "src/adapters/db/a.ts",        'import { ticketOf as t } from "#domain/signing/ticket.ts"', "nobody else may import ticketOf"],
    ["tickets are taken as a whole module",  "src/domain/a/b.ts",           'import * as t from "#domain/signing/ticket.ts"',  "nobody else may import ticketOf"],
    ["a file passes names on",               "src/core/a.ts",               'export { b } from "./b.ts"',                      "no barrels"],
    ["an import points up",                  "src/core/x/a.ts",             'import { b } from "../b.ts"',                     "points up"],
    ["a neighbour is called by its layer",   "src/core/a.ts",               'import { b } from "#core/b.ts"',                  "is a neighbour"],
  ] as const;
  const parsed = once(() => parseRows(refusals));
  test.each(refusals)("when %s", async (name, _path, _text, words) => {
    const findings = dependencyFindings((await parsed()).get(name) ?? [], imports);
    expect(findings.map(rendered).join("\n")).toContain(words);
  });
});

describe("an import is accepted", () => {
  // biome-ignore format: the table is read by column.
  const accepted = [
    ["core uses its own folders",            "src/core/x/a.ts",             'import { b } from "#core/b.ts"'],
    ["core reads foreign ASN.1",             "src/core/a.ts",               'import { X509Certificate } from "@peculiar/x509"'],
    ["core/crypto.ts reaches the runtime",   "src/core/crypto.ts",          'import { sign } from "node:crypto"'],
    ["an adapter implements a port",         "src/adapters/db/a.ts",        'import type { Store } from "#domain/store.ts"'],
    ["a noun imports a lower one",           "src/domain/certificates/a.ts", 'import { b } from "#domain/access/b.ts"'],
    ["a noun reads the store",               "src/domain/signing/a.ts",     'import type { Store } from "#domain/store.ts"'],
    ["the store is the sum of ports",        "src/domain/store.ts",         'import type { B } from "#domain/revocation/presign-store.ts"'],
    ["the key port names the ticket",        "src/domain/keys.ts",          'import type { SignTicket } from "#domain/signing/ticket.ts"'],
    ["an adapter reads a ticket",            "src/adapters/keys/a.ts",      'import { SignTicket } from "#domain/signing/ticket.ts"'],
    ["signing makes a ticket",               "src/domain/signing/a.ts",     'import { ticketOf } from "./ticket.ts"'],
    ["an adapter reads its section",         "src/adapters/db/a.ts",        'import type { Database } from "#config/sections/database.ts"'],
    ["the database adapter speaks SQL",      "src/adapters/db/a.ts",        'import { Database } from "bun:sqlite"'],
    ["a protocol mounts routes",             "src/protocols/ocsp.ts",       'import { Hono } from "hono"'],
    ["the composition root takes anything",  "src/app.ts",                  'import { b } from "#adapters/db/b.ts"'],
    ["the shell opens the application",      "src/cli/a.ts",                'import { openApp } from "#app"'],
    ["web takes a type of api",              "web/a.ts",                    'import type { B } from "#api/b.ts"'],
    ["cli takes a type of api",              "src/cli/a.ts",                'import type { B } from "#api/b.ts"'],
    ["a neighbour is called by its name",    "src/domain/a.ts",             'import { b } from "./b.ts"'],
  ] as const;
  const parsed = once(() => parseRows(accepted));
  test.each(accepted)("when %s", async (name) => {
    const files = (await parsed()).get(name) ?? [];
    expect(files).toHaveLength(1);
    const findings = dependencyFindings(files, imports);
    expect(findings.map(rendered)).toEqual([]);
  });
});

test("imports that go round in a circle are refused, types included", async () => {
  const files = await parseSamples({
    "src/core/a.ts": 'import { b } from "./b.ts";\nexport const a = b;\n',
    "src/core/b.ts": 'import type { c } from "./c.ts";\nexport const b = 1 as unknown as c;\n',
    "src/core/c.ts": 'import { a } from "./a.ts";\nexport type c = typeof a;\n',
  });
  expect(dependencyFindings(files, imports).map(rendered)).toEqual([
    "src/core/c.ts:1 imports go round in a circle: src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts.",
  ]);
});

test("two nouns that import each other are refused, whichever of them came first", async () => {
  const files = await parseSamples({
    "src/domain/authorities/a.ts":
      'import { b } from "#domain/certificates/b.ts";\nexport const a = b;\n',
    "src/domain/authorities/c.ts": "export const c = 1;\n",
    "src/domain/certificates/b.ts": "export const b = 1;\n",
    "src/domain/certificates/d.ts":
      'import { c } from "#domain/authorities/c.ts";\nexport const d = c;\n',
  });
  expect(dependencyFindings(files, imports).map(rendered)).toEqual([
    "src/domain/authorities/a.ts:1 authorities stands below certificates and may not import it (src/domain/certificates/b.ts).",
  ]);
});

/** Parses the file of every row. */
const parseRows = (
  rows: readonly (readonly [name: string, path: string, text: string, ...unknown[]])[],
) => parseEachSample(rows.map(([name, path, text]) => [name, { [path]: `${text};\n` }] as const));
