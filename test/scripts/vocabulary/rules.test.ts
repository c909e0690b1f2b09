/** Tests the rules of the vocabulary check that have no pattern: names, comments, test names. */

import { describe, expect, test } from "bun:test";
import { checkSubject } from "#scripts/vocabulary/commit-rules.ts";
import { checkTestName } from "#scripts/vocabulary/test-name-rules.ts";
import { collectDocumentHits, collectSampleHits, formatShort } from "./samples.ts";

const numbers = Array.from({ length: 26 }, (_, index) => `a${index}`);

describe("rules on names and comments", () => {
  // Columns: form, path, source, rule, found string.
  // biome-ignore format: the table is read by column.
  const violations = [
    ["a participle as function name",     "src/core/a.ts", "function signed() {}",                        "function name: participle", "signed"],
    ["a participle at the start",         "src/core/a.ts", "const madeKey = () => 1;",                    "function name: participle", "madeKey"],
    ["a present participle at the start", "src/core/a.ts", "const signingKey = (): number => 1;",         "function name: participle", "signingKey"],
    ["a participle at the end",           "test/a.ts",     "async function headVerified() {}",            "function name: participle", "headVerified"],
    ["a participle of a private method",  "web/a.ts",      "class A { #settled() {} }",                   "function name: participle", "settled"],
    ["a participle of an interface",      "src/core/a.ts", "interface A { revoked(): void }",             "function name: participle", "revoked"],
    ["a participle of a function type",   "src/core/a.ts", "interface A { sealed: () => void }",          "function name: participle", "sealed"],
    ["a preposition at the end",          "src/core/a.ts", "function keyOf() {}",                         "function name: preposition", "keyOf"],
    ["a preposition at the start",        "src/core/a.ts", "const inTransaction = () => 1;",              "function name: preposition", "inTransaction"],
    ["get at the start",                  "src/core/a.ts", "function getKey() {}",                        "function name: get",        "getKey"],
    ["a participle as type name",         "src/core/a.ts", "interface Signed {}",                         "type name: participle or adjective", "Signed"],
    ["a present participle as type name", "src/core/a.ts", "type Waiting = string;",                      "type name: participle or adjective", "Waiting"],
    ["an adjective as type name",         "src/core/a.ts", "class Recent {}",                             "type name: participle or adjective", "Recent"],
    ["a comment that opens with Of",      "src/core/a.ts", "/** Of its key. */\nconst a = 1;",            "doc comment: opening",      "Of"],
    ["a comment that opens with The same", "src/core/a.ts", "/** The same with a key. */\nconst a = 1;",  "doc comment: opening",      "The same"],
    ["four sentences before the tags",    "src/core/a.ts", "/** A b. C d. E `f`. G h. */\nconst a = 1;",  "doc comment: over 3 sentences", "4 sentences"],
    ["a sentence of 26 words",            "src/core/a.ts", `// ${numbers.join(" ")}.\nconst a = 1;`,      "comment: sentence over 25 words", '"a0 a1 a2 a3 a4 …" (26 words)'],
    ["a long sentence in a tag",          "src/core/a.ts", `/**\n * Reads.\n * @returns ${numbers.join("\n * ")}\n */\nfunction readA() {}`, "comment: sentence over 25 words", '"a0 a1 a2 a3 a4 …" (26 words)'],
  ] as const;
  test.each(violations)("the check finds %s", async (_form, path, source, rule, found) => {
    const hits = await collectSampleHits({ [path]: `/** Sample. */\n${source}\n` });
    expect(hits.map((hit) => ({ rule: hit.rule, found: hit.found }))).toEqual([{ rule, found }]);
  });

  // biome-ignore format: the table is read by column.
  const accepted = [
    ["a verb with an object",             "src/core/a.ts",  "function signKey() {}"],
    ["a verb that ends in -ed or -ing",   "src/core/a.ts",  "const feedKey = () => 1;\nconst bringKey = () => 2;\nfunction pingHost() {}"],
    ["a predicate with a participle",     "src/core/a.ts",  "const isExpired = () => true;\nfunction hasEnded() {}"],
    ["a gerund at the end",               "src/core/a.ts",  "function reauthorizeWhileStreaming() {}"],
    ["a phrasal verb",                    "src/core/a.ts",  "function signIn() {}\nfunction turnOn() {}"],
    ["conversions and changed copies",    "src/core/a.ts",  "function toPem() {}\nfunction derFromPem() {}\nfunction withNonce() {}\nfunction withoutProgress() {}"],
    ["a hook and a handler",              "web/a.ts",       "const useClosed = () => 1;\nconst onChanged = () => 2;"],
    ["a component",                       "web/a.tsx",      "const Signed = () => <p>1</p>;"],
    ["a builder in the file of builders", "src/core/shape.ts", "export const listed = () => 1;"],
    ["a method of an object literal",     "src/core/a.ts",  "const a = { signed() {} };"],
    ["a value with a participle",         "src/core/a.ts",  "const signed = 1;"],
    ["a name with an underscore",         "src/core/a.ts",  "const signed_at = () => 1;"],
    ["a type with a noun",                "src/core/a.ts",  "interface SignedRequest {}\ntype Setting = string;\nclass Feed {}"],
    ["a doc comment with three sentences", "src/core/a.ts", "/** A b, e.g. C. D e in RFC 5280 §4.2. F g. */\nconst a = 1;"],
    ["a list below the sentences",        "src/core/a.ts",  "/**\n * A b. C d. E f:\n * - G h.\n * - I j.\n */\nconst a = 1;"],
    ["a sentence of 25 words",            "src/core/a.ts",  `// ${numbers.slice(1).join(" ")}. A b.\nconst a = 1;`],
    ["a line comment that opens with Of", "src/core/a.ts",  "// Of two keys the older one signs.\nconst a = 1;"],
  ] as const;
  test.each(accepted)("the check accepts %s", async (_form, path, source) => {
    const hits = await collectSampleHits({ [path]: `/** Sample. */\n${source}\n` });
    expect(hits.map(formatShort)).toEqual([]);
  });

  test("a type name that two files of src export is a hit in both", async () => {
    const text = "/** Sample. */\nexport interface Query {}\n";
    const hits = await collectSampleHits({
      "src/core/a.ts": text,
      "src/http/b.ts": text.replace("interface Query {}", "type Query = string;"),
      "web/c.ts": text,
      "src/core/d.ts": text.replace("export ", ""),
    });
    expect(hits.map(({ path, rule, instead }) => `${path} ${rule} ${instead}`)).toEqual([
      "src/core/a.ts type name: exported twice another noun; also in src/http/b.ts",
      "src/http/b.ts type name: exported twice another noun; also in src/core/a.ts",
    ]);
  });

  test("a long sentence in Markdown is a hit", () => {
    const [hit, ...others] = collectDocumentHits(`A b.\n\n${numbers.join("\n")}.\n`);
    expect(hit).toMatchObject({ rule: "comment: sentence over 25 words", line: 3 });
    expect(others).toEqual([]);
  });
});

describe("test names", () => {
  test.each([
    ["is refused with a code"],
    ["are counted per area"],
    ["cannot be read by others"],
    ["refuses a wrong key"],
    ["names every identifier"],
    ["revoke the key first"],
    ["of a revoked certificate the first time stays"],
    ["about a revoked certificate, with time and reason"],
    ["and no other CA does"],
    ["that is damaged is skipped"],
    ["what is missing is created"],
    ["it is removed again"],
    ["one that expired is skipped"],
    ["off: issued, and no DNS query is sent"],
    ["a second time, and the first reason remains"],
    ["signed by another CA it is refused"],
    ["looking for a key takes no lock"],
    ["RFC 5280 §4.1: of two keys the older one signs"],
    ["V-12: missing from the list it is refused"],
    ["a certificate of two names"],
    ["never fails on a full disk"],
  ])("the check refuses the test name: %s", (name) => {
    expect(checkTestName(name)).toContain("a s");
  });

  test.each([
    ["a correct password is not counted as a failure"],
    ["a CA issues without DNS queries while CAA checking is off"],
    ["`cert needs-renewal` exits 0 if due, 1 if not due, 2 if undecided"],
    ["an OCSP response for a revoked certificate contains time and reason"],
    ["the store claims only the due challenges that were named"],
    ["a second revocation keeps the first time and reason"],
    ["RFC 6960 §4.4.1: the responder echoes the nonce"],
    ["KEY-5, V7: counts of responders match their announcements"],
    ["revoked certificates remain in the list"],
    ["signing keys are rotated once a year"],
    ["requests of suspended tenants get 403"],
    ["names are compared without case"],
    ["SIGKILL loses no committed row"],
    ["%s is refused"],
    ["%s: %s"],
    ["no certificate expires before its issuer"],
    ["every profile has a validity"],
    ["one CA signs for all tenants"],
    ["reads of a closed store fail"],
    ["requests all fail after a shutdown"],
    ["expired, revoked and held certificates are listed"],
    ["unknown or expired tokens are refused"],
    ["octets, decimal and hex spell the same serial"],
  ])("the check accepts the test name: %s", (name) => {
    expect(checkTestName(name)).toBeUndefined();
  });
});

describe("commit subjects", () => {
  // biome-ignore format: the table is read by column.
  const refused = [
    ["Let long deltas rest",                    "exact verb"],
    ["Hold plans behind the walls of tenants",  "exact verb"],
    ["Adds a row",                              "exact verb"],
    ["Speed limits for the API",                "exact verb"],
    ["add a row",                               "exact verb"],
    ["Add a row.",                              "full stop"],
    [`Add ${"a".repeat(57)}`,                   "at most 60 characters, not 61"],
  ] as const;
  test.each(refused)("the check refuses the subject: %s", (subject, reason) => {
    expect(checkSubject(subject).join("\n")).toContain(reason);
  });

  test.each([
    ["Limit replacement plans to their tenant"],
    ["Delay signing of large delta CRLs"],
    ["Fix Esc in dialogs when focus is past the last control"],
    ["Speed up expiry scan for CAs with few certificates"],
    [`Add ${"a".repeat(56)}`],
  ])("the check accepts the subject: %s", (subject) => {
    expect(checkSubject(subject)).toEqual([]);
  });
});
