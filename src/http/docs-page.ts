/**
 * The page that describes the operations to people: what each takes, refuses and wants to know
 * about the caller; no script.
 */

import { type ProblemCode, problems } from "#core/problems.ts";
import type { Field, Fields } from "#core/shape.ts";
import { refusalsOf } from "./openapi-refusals.ts";
import { type Described, describedOperations, shapeOf } from "./openapi.ts";
import { namesIn } from "#operations";
import type { Catalog, Entry } from "./catalog.ts";

/** The page, HTML. */
export function docsPage(catalog: Catalog, style: string): string {
  const described = describedOperations(catalog);
  const nouns = [...new Set(described.map(nounOf))];
  const links = nouns.map((noun) => `<a href="#${noun}">${noun}</a>`).join(" ");
  const groups = nouns.map((noun) => {
    const own = described.filter((one) => !one.alias && nounOf(one) === noun);
    const entries = own.map((one) => entryOf(one, described, catalog.entry(one.name)));
    return `<h2 id="${noun}">${noun}</h2>\n${entries.join("\n")}`;
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>pkid: operations</title>
<style>${style}</style>
<h1>Operations</h1>
<p>The machine-readable form is <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1). How to run pkid is in the <a href="/docs/manual">manual</a>, how ACME clients are pointed here on <a href="/docs/acme">a page</a> where ACME is on.</p>
<p>${links} <a href="#errors">errors</a></p>
${authentication}
${groups.join("\n")}
<h2 id="errors">errors</h2>
<p>A refusal is <code>{"error", "code", "request_id"}</code> with the facts of its code. Nothing changed.</p>
${table(["Code", "Status", "Sentence", "Facts"], everyProblem())}
</html>
`;
}

function entryOf(
  { name, method, path, needs, summary }: Described,
  all: readonly Described[],
  entry: Entry,
): string {
  const shape = shapeOf(entry);
  const { query, body, takes, gives, path: inPath } = shape;
  const aliases = all.filter((one) => one.alias && one.name === name);
  const parameters = [...parameterRows(namesIn(path), inPath), ...memberRows(query, "", "query")];
  const refusals = refusalsOf(entry.row, shape);
  const facts = [
    `Needs: ${needsText(needs)}`,
    ...aliases.map((one) => `Also: <code>${one.method} ${escaped(one.path)}</code>`),
    ...(entry.row.stepUp === undefined
      ? []
      : ["A person in a session confirms it with a passkey, where passkeys guard it."]),
    ...(entry.row.takesTwo === undefined
      ? []
      : ["It waits for another person's approval, where approvals guard it: 202."]),
    ...(takes === undefined ? [] : [`Body: ${escaped(takes)}`]),
    gives.length === 0
      ? "Answer: the browser is sent on"
      : `Answer: ${gives.map(escaped).join(", ")}`,
    `<a href="/console/manual/interface/${name}">Try it in the console</a>, as who one is`,
  ];
  return `<details id="${name}"><summary><code>${method} ${escaped(path)}</code> ${escaped(summary)}</summary>
<p>${facts.join("<br>")}</p>
${parameters.length === 0 ? "" : table(["Parameter", "In", "Value", ""], parameters)}
${body === undefined ? "" : table(["Member of the body", "", "Value", ""], memberRows(body, "", ""))}
<p>Refusals: ${refusals.map(([status, codes]) => `${status} ${codes.map(codeLink).join(" ")}`).join("; ")}.</p>
</details>`;
}

const nounOf = ({ name }: Described): string => name.split(".")[0] ?? name;

const needsText = (needs: string): string => {
  if (needs === "pub") return "nothing; anybody may ask";
  return needs === "any" ? "any credential" : `a credential with <code>${escaped(needs)}</code>`;
};

const codeLink = (code: ProblemCode): string => `<a href="#e-${code}">${code}</a>`;

type Row = readonly string[];

const parameterRows = (names: readonly string[], fields: Fields): readonly Row[] =>
  names.map((name) => [code(name), "path", kindOf(fields[name]?.schema ?? {}), "required"]);

/** One row for each member, those of objects within it included. */
function memberRows(fields: Fields, above: string, where: string): readonly Row[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const row = [code(above + name), where, kindOf(field.schema), presence(field)];
    return [row, ...schemaRows(field.schema, `${above}${name}`, where)];
  });
}

function schemaRows(schema: Schema, above: string, where: string): readonly Row[] {
  if (schema.type === "array") return schemaRows(schemaAt(schema, "items"), `${above}[]`, where);
  const properties = Object.entries(schemaAt(schema, "properties"));
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  return properties.flatMap(([name, inner]) => {
    const member = inner as Schema; // JSON Schema: the values of `properties` are schemas.
    const path = `${above}.${name}`;
    const must = required.includes(name) ? "required" : "";
    return [[code(path), where, kindOf(member), must], ...schemaRows(member, path, where)];
  });
}

const presence = ({ optional, fallback }: Field<unknown>): string => {
  if (!optional) return "required";
  const plain = typeof fallback === "object" ? undefined : fallback;
  return plain === undefined ? "" : `default ${escaped(JSON.stringify(plain))}`;
};

type Schema = Readonly<Record<string, unknown>>;

const schemaAt = (schema: Schema, name: string): Schema => {
  const inner = schema[name];
  // An object, just seen.
  return typeof inner === "object" && inner !== null ? (inner as Schema) : {};
};

/** A schema in words. */
function kindOf(schema: Schema): string {
  if (Array.isArray(schema.enum))
    return `one of ${schema.enum.map((one) => code(String(one))).join(" ")}`;
  const { type, minimum, maximum, minLength, maxLength, pattern, description } = schema;
  if (type === "array")
    return `list of ${kindOf(schemaAt(schema, "items"))}${bounds(schema.minItems, schema.maxItems)}`;
  const kind = type === "string" ? "text" : escaped(String(type ?? "any"));
  const like = pattern === undefined ? "" : ` like ${code(String(pattern))}`;
  const more = description === undefined ? "" : ` ${escaped(String(description))}`;
  return `${kind}${bounds(minimum ?? minLength, maximum ?? maxLength)}${like}${more}`;
}

function bounds(least: unknown, most: unknown): string {
  if (least === undefined && most === undefined) return "";
  return ` (${String(least ?? 0)}${most === undefined ? " or more" : ` to ${String(most)}`})`;
}

const everyProblem = (): readonly Row[] =>
  Object.entries(problems).map(([name, [status, sentence, facts]]) => [
    `<code id="e-${name}">${name}</code>`,
    String(status),
    escaped(sentence),
    facts.map(code).join(" "),
  ]);

const table = (head: readonly string[], rows: readonly Row[]): string =>
  `<table><thead><tr>${head.map((one) => `<th>${one}`).join("")}</thead><tbody>
${rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}`).join("")}`).join("\n")}
</tbody></table>`;

const code = (text: string): string => `<code>${escaped(text)}</code>`;

/** Text in HTML, of elements and of attributes. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** AUTH-1 and AUTH-3. */
const authentication = `<h2 id="authenticate">How to authenticate</h2>
<dl>
<dt>API token, for programs<dd><code>curl -H "Authorization: Token pki_pat_…" https://…/api/me</code>; made with <code>pkid token create</code> or <a href="#token.create">token.create</a>, shown once
<dt>Name and password<dd><code>curl -u root https://…/api/me</code>; root's, or a name of the directory where one is configured
<dt>OpenID token<dd><code>Authorization: Bearer …</code> with an access token of the configured provider
<dt>Client certificate<dd><code>curl --cert me.pem --key me.key https://…/api/me</code>, where <code>auth.mtls</code> binds it
<dt>Session, for browsers<dd>the cookie a login sets; what changes something needs the CSRF token of <a href="#auth.session">auth.session</a> in <code>X-CSRF-Token</code>
</dl>`;
