/** Renders the reference of every key, as a page and as JSON, from the declaration (CFG-9). */

import { isObject } from "#core/shape.ts";
import { typeText } from "#core/shape/described.ts";

import { variableOf } from "./environment.ts";
import { configSchema } from "./schema.ts";
import { type Field, isDerived, type Members, type Section } from "./section.ts";
import { sourceMembers } from "./sources.ts";

/** One row of the reference. */
export interface ReferenceRow {
  readonly key: string;
  /** Absent for members of list items, which have none of their own (ENV-2). */
  readonly variable?: string;
  readonly type: string;
  readonly default: string;
  readonly secret: boolean;
  readonly reloadable: boolean;
  readonly sentence: string;
}

/** Sections in the order of declaration, each with its rows. */
export function reference(): readonly {
  readonly title: string;
  readonly path: string;
  readonly rows: readonly ReferenceRow[];
}[] {
  return sectionsOf(configSchema, "");
}

/** What every `<key>_source` takes; these keys have no variables of their own. */
export function sourceReference(): readonly ReferenceRow[] {
  return itemRows("<key>_source", sourceMembers, false);
}

/** The page `pkid config reference` prints. */
export function referenceMarkdown(): string {
  const parts = reference().map(({ title, path, rows }) => {
    const heading = path === "" ? `# ${title}` : `## ${title} (\`${path}\`)`;
    return page(heading, path === "" ? introduction : "", rows);
  });
  return [...parts, page("## Secret sources", aboutSources, sourceReference())].join("\n");
}

const page = (heading: string, note: string, rows: readonly ReferenceRow[]): string =>
  `${heading}\n${note}\n${tableHead}\n${rows.map(tableRow).join("\n")}\n`;

function sectionsOf(of: Section, path: string): ReturnType<typeof reference> {
  const prefix = path === "" ? "" : `${path}.`;
  const rows = Object.entries(of.members).flatMap(([key, member]) =>
    member.node === "field" ? fieldRows(prefix + key, member) : [],
  );
  const inner = Object.entries(of.members).flatMap(([key, member]) =>
    member.node === "section" ? sectionsOf(member, prefix + key) : [],
  );
  return rows.length === 0 ? inner : [{ title: of.title, path, rows }, ...inner];
}

function fieldRows(key: string, field: Field<unknown>): readonly ReferenceRow[] {
  const row = { ...rowOf(key, field), variable: variableOf(key) };
  return [row, ...itemRows(`${key}[]`, field.members ?? {}, field.reloadable)];
}

function itemRows(path: string, members: Members, reloadable: boolean): readonly ReferenceRow[] {
  return Object.entries(members).flatMap(([key, member]) =>
    member.node === "section"
      ? itemRows(`${path}.${key}`, member.members, reloadable)
      : [{ ...rowOf(`${path}.${key}`, member), reloadable }],
  );
}

function rowOf(key: string, field: Field<unknown>): ReferenceRow {
  return {
    key,
    type: typeText(field.kind),
    default: defaultText(field),
    secret: field.source !== undefined,
    reloadable: field.reloadable,
    sentence: field.sentence,
  };
}

function defaultText({ fallback }: Field<unknown>): string {
  if (fallback === undefined) return "–";
  if (isDerived(fallback)) return fallback.text;
  if (Array.isArray(fallback)) return fallback.length === 0 ? "[]" : `\`${fallback.join(", ")}\``;
  if (isObject(fallback)) return "{}";
  return `\`${fallback}\``;
}

function tableRow(row: ReferenceRow): string {
  const flags = `${row.secret ? "S" : ""}${row.reloadable ? "R" : ""}` || "–";
  const cells = [`\`${row.key}\``, row.type, row.default, flags, row.sentence];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

const tableHead = "| Key | Type | Default | F | Effect |\n|---|---|---|---|---|";

const introduction = `
Every key can stand in the file, or in the environment as \`PKID_\` and its path in upper case with dots as
underscores: \`crl.base_url\` is \`PKID_CRL_BASE_URL\`. Order of authority: default, file, environment, command flag.

Column F: **S** is a secret; it has a sibling \`<key>_source\`, see "Secret sources" at the end, and its variable also exists
with \`_FILE\`.
**R** is taken over on SIGHUP; every other key needs a restart.
`;

const aboutSources = `
\`<key>_source\` stands for every key marked **S** and wins over a value in place. It has a type and the part of that name, as in
\`{type: env, env: {var: PIN}}\`, and no other part.
`;
