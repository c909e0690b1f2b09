/** What a request is about, as its details name it: two that read the same differ there. */

import type { Answers } from "#api/answers.ts";

type Approval = Pick<Answers["approval.show"], "details" | "summary">;

/** Undefined where the summary says all of it. */
export function targetOf({ details, summary }: Approval): string | undefined {
  const said = readers.flatMap((read) => read(membersOf(details)));
  const unsaid = [...new Set(said)].filter((text) => text !== "" && !summary.includes(text));
  return unsaid.length === 0 ? undefined : unsaid.join(", ");
}

type Members = Readonly<Record<string, unknown>>;

/** Names of a request or a certificate, what selects certificates, and the names of what is new. */
const readers: readonly ((details: Members) => readonly string[])[] = [
  ({ csr }) => namesIn(membersOf(csr)),
  ({ csr_pem }) => namesIn(membersOf(csr_pem)),
  ({ certificate_pem }) => certificateIn(membersOf(certificate_pem)),
  ({ subject }) => textsOf([membersOf(subject).cn]),
  ({ label, new_label, key_type }) => textsOf([label, new_label, key_type]),
  ({ filter }) =>
    Object.entries(membersOf(filter)).map(([name, value]) => `${name} ${JSON.stringify(value)}`),
  ({ operation_id }) => textsOf([operation_id]),
];

/** The first few: the details beside have all. */
function namesIn({ subject, sans }: Members): readonly string[] {
  const names = textsOf(Array.isArray(sans) ? sans : []);
  const shown = names.slice(0, namesMax);
  const more = names.length - shown.length;
  const subjects = names.length === 0 ? textsOf([subject]) : [];
  return subjects.concat(shown, more === 0 ? [] : [`and ${more} more`]);
}

const certificateIn = ({ subject, serial }: Members): readonly string[] =>
  textsOf([subject]).concat(textsOf([serial]).map((decimal) => `serial ${decimal}`));

const textsOf = (values: readonly unknown[]): readonly string[] =>
  values.filter((value) => typeof value === "string");

const membersOf = (value: unknown): Members =>
  // What is no object has no members.
  typeof value === "object" && value !== null ? (value as Members) : {};

const namesMax = 3;
