/** Runs the rules of the vocabulary check on small source files. */

import type { Hit } from "#scripts/vocabulary/hit.ts";
import { collectMarkdownHits, collectSourceHits } from "#scripts/vocabulary/hits.ts";
import { readSourceContent } from "#scripts/vocabulary/source-content.ts";
import { parseTable, TableMatcher } from "#scripts/vocabulary/table.ts";
import { parseSamples } from "#test/support/samples.ts";

/** Table with one row of each form. */
export const sampleTable = [
  "pattern\twhere\tinstead\tkept-when",
  "\\b(zork|zorks)\\b\tidentifier,prose,ui\tvalue\tin src/core/dns/, src/http/dns; a term of DNS",
  "\\bplugh\\b\tidentifier\tkey\t",
  "^(what|how)\\b\tprose\ta verb\t",
  "^make\\b\tui\tCreate\t",
  "\\bgrue here\\b\tprose\tno\t",
  "^xyzzy?$\tidentifier\ttx\t",
].join("\n");

/** Collects the hits of the sample table and of all rules in source files given by path. */
export async function collectSampleHits(files: Readonly<Record<string, string>>): Promise<Hit[]> {
  const parsed = await parseSamples(files);
  return collectSourceHits(parsed.map(readSourceContent), createSampleMatcher());
}

/** Collects the hits of the sample table in a Markdown document. */
export const collectDocumentHits = (document: string): Hit[] =>
  collectMarkdownHits("README.md", document, createSampleMatcher());

const createSampleMatcher = (): TableMatcher => new TableMatcher(parseTable(sampleTable));

/** Formats a hit as `line rule: found`. */
export const formatShort = ({ line, rule, found }: Hit): string => `${line} ${rule}: ${found}`;
