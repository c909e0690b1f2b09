/** What a filter of the inventory asks of the rows of `certificates`, in SQL. */

import { and, type Column, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";

import { findSerials } from "#core/ids.ts";
import type { CertificateFilter } from "#domain/certificates/store.ts";
import { contains, type Connection, startsWith } from "#adapters/db/engine/connection.ts";

import { serialsBeginning } from "./serial-ranges.ts";

/**
 * Whether text and serial are looked for by their indexes, only compared, compared as SQLite's text
 * index would that does not hold them yet, or have been found already.
 */
export type Search = "indexed" | "compared" | "alike" | "found";

/** The conditions of a filter. */
export function matching(
  { dialect, t }: Pick<Connection, "dialect" | "t">,
  filter: CertificateFilter,
  search: Search = "indexed",
): SQL | undefined {
  const c = t.certificates;
  const { profile, spkiSha256, requestedBy, expiresBefore, serialPrefix, text } = filter;
  // The sign keeps SQLite from walking by an index whose order is not the page's.
  const bare = (column: Column): SQL => (dialect === "sqlite" ? sql`+${column}` : sql`${column}`);
  return and(
    eq(c.caId, filter.caId),
    eq(c.kind, "leaf"),
    profile === undefined ? undefined : eq(c.profile, profile),
    spkiSha256 === undefined ? undefined : eq(c.spkiSha256, spkiSha256),
    requestedBy === undefined ? undefined : eq(c.requestedBy, requestedBy),
    expiresBefore === undefined ? undefined : lt(bare(c.notAfter), expiresBefore),
    serialPrefix === undefined ? undefined : beginning(dialect, c, serialPrefix, search),
    text === undefined || search === "found" ? undefined : spelling(dialect, c, text, search),
    ofStatus({ status: bare(c.status), notAfter: bare(c.notAfter) }, filter),
  );
}

type Columns = Connection["t"]["certificates"];

/**
 * SQLite has looked the serials up before; PostgreSQL finds them by ranges of the unique index, or
 * compares digits.
 */
function beginning(
  dialect: Connection["dialect"],
  c: Columns,
  prefix: string,
  search: Search,
): SQL {
  const hex = prefix.startsWith("0x");
  if (dialect === "sqlite") {
    return hex ? startsWith(c.serialHex, prefix.slice(2)) : startsWith(c.serial, prefix);
  }
  if (search === "compared") {
    const digits = hex ? prefix.slice(2) : prefix;
    return sql`left(${hex ? c.serialHex : c.serial}, ${digits.length}::int) = ${digits}`;
  }
  return serialsBeginning(sql`${c.serial}`, prefix);
}

function spelling(dialect: Connection["dialect"], c: Columns, text: string, search: Search): SQL {
  const like =
    search === "alike"
      ? contains(withoutVariants(c), variantless(text.toLowerCase()))
      : contains(c.search, text);
  const byIndex = dialect === "postgres" && search === "indexed" && hasTrigrams(text);
  // Found by the trigrams both have (`certificates_search`), then compared.
  const grams = sql`certificate_trigrams(${c.search}) @> certificate_trigrams(${text.toLowerCase()})`;
  const part = byIndex ? sql`(${grams} and ${like})` : like;
  const serials = findSerials(text);
  return serials.length === 0 ? part : sql`(${part} or ${inArray(c.serial, [...serials])})`;
}

/** Text in lower case as SQLite's index of trigrams sees it, for which these letters are one. */
export const variantless = (text: string): string =>
  Object.entries(variants).reduce((left, [one, same]) => left.replaceAll(one, same), text);

/** The same of the column, where it has other letters than those of ASCII. */
function withoutVariants({ search }: Columns): SQL {
  const replaced = Object.entries(variants).reduce(
    (left, [one, same]) => sql`replace(${left}, ${sql.raw(`'${one}', '${same}'`)})`,
    sql`${search}`,
  );
  return sql`case when octet_length(${search}) = length(${search}) then ${search} else ${replaced} end`;
}

/** True for text that the index of trigrams can look for. */
export const hasTrigrams = (text: string): boolean => [...text].length > 2;

// RFC 5280 §4.1.2.5: notAfter itself is still inside the validity.
function ofStatus(
  c: { readonly status: SQL; readonly notAfter: SQL },
  { status, now }: CertificateFilter,
): SQL | undefined {
  if (status === undefined) return undefined;
  if (status === "good") return and(eq(c.status, "good"), gte(c.notAfter, now));
  if (status === "expired") return and(eq(c.status, "good"), lt(c.notAfter, now));
  return eq(c.status, status);
}

/** Lower case letters that case folding makes another of. */
const variants = {
  "\u{b5}": "μ",
  "\u{17f}": "s",
  "\u{345}": "ι",
  "\u{3c2}": "σ",
  "\u{3d0}": "β",
  "\u{3d1}": "θ",
  "\u{3d5}": "φ",
  "\u{3d6}": "π",
  "\u{3f0}": "κ",
  "\u{3f1}": "ρ",
  "\u{3f5}": "ε",
  "\u{1e9b}": "ṡ",
  "\u{1fbe}": "ι",
} as const;
