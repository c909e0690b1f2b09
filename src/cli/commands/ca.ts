/** `pkid ca`: lists, shows and creates certificate authorities. */

import { type Command, command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import {
  type Flags,
  type Given,
  many,
  number,
  required,
  toggle,
  value,
  valueOr,
} from "#cli/flags.ts";
import { writeResult } from "#cli/io.ts";
import { caIdOf, caOf } from "#cli/references.ts";
import { columns, facts, type Row, rowsAt, textAt } from "#cli/rows.ts";

const subjectFlags = {
  label: required("Label, 1 to 64 of A-Z a-z 0-9 . _ -", "<label>"),
  cn: required("Common name.", "<name>"),
  o: value("Organization.", "<name>"),
  ou: value("Organizational unit.", "<name>"),
  c: value("Country, two letters.", "<code>"),
  st: value("State or province.", "<name>"),
  l: value("Locality.", "<name>"),
  "path-len": number("Most intermediates below this one.", "<n>"),
  "permit-dns": many("DNS suffix certificates may carry.", "<suffix>"),
  "permit-ip": many("Address block certificates may carry.", "<cidr>"),
  "permit-email": many("E-mail domain certificates may carry.", "<domain>"),
  "permit-uri": many("URI host certificates may carry.", "<host>"),
  "exclude-dns": many("DNS suffix certificates must not carry.", "<suffix>"),
  "exclude-ip": many("Address block certificates must not carry.", "<cidr>"),
  "exclude-email": many("E-mail domain certificates must not carry.", "<domain>"),
  "exclude-uri": many("URI host certificates must not carry.", "<host>"),
  "policy-oid": many("Certificate policy.", "<oid>"),
  "policy-cps": value("URL of the certification practice statement.", "<url>"),
} as const satisfies Flags;

export const caVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List the CAs you may read, newest first.",
    flags: {
      status: value("Only those that are pending, active, superseded or retired.", "<status>"),
      limit: number("Rows per page.", "<n>"),
      cursor: value("Where the last page ended.", "<cursor>"),
      all: toggle("Follow every page."),
    },
    run: async ({ flags, client, print }) => {
      const { all, ...query } = flags;
      const list = await client.list("ca.list", { query }, all);
      const keys = ["id", "label", "status", "subject", "not_after", "key_type", "provider"];
      print(list, columns(rowsAt(list, "items"), keys));
      return 0;
    },
  }),
  show: command({
    summary: "Show one CA with its certificate.",
    takes: ["ca"],
    run: async ({ words: [reference = ""], client, print }) => {
      const ca = await caOf(client, reference);
      print(ca, facts(ca, shown) + pemOf(ca));
      return 0;
    },
  }),
  "init-root": command({
    summary: "Create a root CA.",
    flags: {
      ...subjectFlags,
      "key-type": valueOr("Key type.", "<type>", "ecdsa-p384"),
      "validity-days": number("Validity in days (3650 when not given).", "<days>"),
      tenant: value("Tenant that owns it, by id or slug.", "<tenant>"),
    },
    run: async ({ flags, client, print }) => {
      const tenant = flags.tenant === undefined ? {} : { tenant_id: flags.tenant };
      const body = { ...caBody(flags), ...tenant };
      const ca = await client.ask("ca.init_root", { body });
      print(ca, created(ca));
      return 0;
    },
  }),
  "issue-intermediate": command({
    summary: "Create an intermediate CA below another one.",
    flags: {
      parent: required("CA that signs it, by id or label.", "<ca>"),
      ...subjectFlags,
      "key-type": valueOr("Key type.", "<type>", "ecdsa-p256"),
      "validity-days": number("Validity in days (1825 when not given).", "<days>"),
    },
    run: async ({ flags, client, print }) => {
      const id = await caIdOf(client, flags.parent);
      const ca = await client.ask("ca.issue_intermediate", { path: { id }, body: caBody(flags) });
      print(ca, created(ca));
      return 0;
    },
  }),
  chain: command({
    summary: "Print the certificates from this CA up to its root.",
    takes: ["ca"],
    flags: { out: value("File to write instead of stdout.", "<file>") },
    run: async ({ words: [reference = ""], flags, globals, client, io, print }) => {
      const id = await caIdOf(client, reference);
      const pem = new TextDecoder().decode(await client.fetch("ca.chain", { path: { id } }));
      if (globals.json && flags.out === undefined) print({ chain: pem }, "");
      else writeResult(io, flags.out, pem);
      return 0;
    },
  }),
};

function caBody(
  flags: Given<typeof subjectFlags> & {
    readonly "key-type": string;
    readonly "validity-days": number | undefined;
  },
): Record<string, unknown> {
  const { label, cn, o, ou, c, st, l } = flags;
  const oids = flags["policy-oid"];
  if (flags["policy-cps"] !== undefined && oids.length === 0) {
    throw new UsageError("--policy-cps needs --policy-oid.");
  }
  const constraints = constraintsOf(flags);
  return {
    label,
    subject: { cn, o, ou, c, st, l },
    key_type: flags["key-type"],
    validity_days: flags["validity-days"],
    max_path_len: flags["path-len"],
    ...(constraints === undefined ? {} : { name_constraints: constraints }),
    ...(oids.length === 0 ? {} : { policies: { oids, cps: flags["policy-cps"] } }),
  };
}

function constraintsOf(flags: Given<typeof subjectFlags>): Record<string, unknown> | undefined {
  const side = (word: "permit" | "exclude"): Record<string, readonly string[]> =>
    Object.fromEntries(
      (["dns", "ip", "email", "uri"] as const)
        .map((kind) => [kind, flags[`${word}-${kind}`]] as const)
        .filter(([, names]) => names.length > 0),
    );
  const [permitted, excluded] = [side("permit"), side("exclude")];
  if (Object.keys(permitted).length + Object.keys(excluded).length === 0) return undefined;
  return { permitted, excluded };
}

const created = (ca: Row): string =>
  facts(ca, ["id", "label", "serial", "not_before", "not_after"]) + pemOf(ca);

const pemOf = (ca: Row): string => textAt(ca, "certificate");

const shown = [
  ...["id", "label", "status", "subject", "serial", "not_before", "not_after", "key_type"],
  ...["provider", "parent_id", "max_path_len", "public_key_fingerprint", "tenant_id"],
  ...["successor_id", "predecessor_id", "retire_after", "created_at"],
];
