/** `pkid ca`: lists, shows and creates certificate authorities. */

import {
  type Args,
  choice,
  type Given,
  keyType,
  many,
  number,
  oneOf,
  pageArgs,
  required,
  tenantArg,
  value,
  word,
} from "#cli/args.ts";
import { algorithms } from "#core/x509/algorithms.ts";
import type { Answer } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { openOut } from "#cli/out-file.ts";
import { caIdOf } from "#cli/references.ts";
import { caShow } from "./ca-show.ts";
import { crossVerbs } from "./ca-cross.ts";
import { externalVerbs } from "./ca-external.ts";
import { rolloverVerbs } from "./ca-rollover.ts";
import { columns, facts, printable, rowsAt, textAt } from "#cli/rows.ts";

const mlDsaTypes = ["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] as const;
const subjectArgs = {
  algorithm: choice("classical, pqc or hybrid.", "algorithm", algorithms),
  "alt-key-type": keyType("Second key of a hybrid CA, ml-dsa-65 when not given.", mlDsaTypes),
  label: required("Label, 1 to 64 of A-Z a-z 0-9 . _ -", "label"),
  cn: required("Common name.", "name"),
  o: value("Organization.", "name"),
  ou: value("Organizational unit.", "name"),
  c: value("Country, two letters.", "code"),
  st: value("State or province.", "name"),
  l: value("Locality.", "name"),
  "path-len": number("Most intermediates below this one.", "n"),
  "permit-dns": many("DNS suffix certificates may carry.", "suffix"),
  "permit-ip": many("Address block certificates may carry.", "cidr"),
  "permit-email": many("E-mail domain certificates may carry.", "domain"),
  "permit-uri": many("URI host certificates may carry.", "host"),
  "permit-dirname": many("Directory name subjects must begin with, like /C=DE/O=Org.", "name"),
  "exclude-dns": many("DNS suffix certificates must not carry.", "suffix"),
  "exclude-ip": many("Address block certificates must not carry.", "cidr"),
  "exclude-email": many("E-mail domain certificates must not carry.", "domain"),
  "exclude-uri": many("URI host certificates must not carry.", "host"),
  "exclude-dirname": many("Directory name subjects must not begin with, like /C=DE/O=Org.", "name"),
  "policy-oid": many("Certificate policy.", "oid"),
  "policy-cps": value("URL of the certification practice statement.", "url"),
  "policy-mapping": many("Policy of the parent that counts as one of this CA.", "oid:oid"),
  "require-explicit-policy": number("CAs below which may still lack an acceptable policy.", "n"),
  "inhibit-policy-mapping": number("CAs below which may still map policies.", "n"),
} as const satisfies Args;

export const caVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List the CAs you may read, newest first.",
    args: {
      status: oneOf("Only those in a state.", "status", [
        "pending",
        "active",
        "superseded",
        "retired",
      ]),
      tenant: tenantArg,
      ...pageArgs,
    },
    run: async ({ args, client, print }) => {
      const { all, ...query } = args;
      const list = await client.list("ca.list", query, all);
      const keys = [
        "id",
        "label",
        "status",
        "subject",
        "not_after",
        "key_type",
        "provider",
      ] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  show: caShow,
  "init-root": command({
    summary: "Create a root CA.",
    args: {
      ...subjectArgs,
      "key-type": keyType("Key type, ecdsa-p384 when not given, with pqc ml-dsa-65."),
      "validity-days": number("Validity in days (3650 when not given).", "days"),
      tenant: tenantArg,
    },
    run: async ({ args, client, print, note }) => {
      const tenant = args.tenant === undefined ? {} : { tenant_id: args.tenant };
      const ca = await client.ask("ca.init_root", { ...caMembers(args, "ecdsa-p384"), ...tenant });
      print(ca, created(ca));
      noteWarnings(ca, note);
    },
  }),
  "issue-intermediate": command({
    summary: "Create an intermediate CA below another one.",
    args: {
      parent: required("CA that signs it, by id or label.", "ca"),
      ...subjectArgs,
      "key-type": keyType("Key type, ecdsa-p256 when not given, with pqc ml-dsa-65."),
      "validity-days": number("Validity in days (1825 when not given).", "days"),
      "ext-key-usage": many("Purpose its certificates may be for, by name or OID.", "usage"),
    },
    run: async ({ args, client, print, note }) => {
      const id = await caIdOf(client, args.parent);
      const purposes = args["ext-key-usage"];
      const members = {
        id,
        ...caMembers(args, "ecdsa-p256"),
        ...(purposes.length === 0 ? {} : { ext_key_usages: purposes }),
      };
      const ca = await client.ask("ca.issue_intermediate", members);
      print(ca, created(ca));
      noteWarnings(ca, note);
    },
  }),
  ...externalVerbs,
  ...crossVerbs,
  ...rolloverVerbs,
  chain: command({
    summary: "Print the certificates from this CA up to its root.",
    args: { ca: word(), out: value("File to write instead of stdout.", "file") },
    run: async ({ args, globals, client, io, print }) => {
      const write = openOut(io, args.out, "a CA certificate");
      const id = await caIdOf(client, args.ca);
      const pem = new TextDecoder().decode(await client.fetch("ca.chain", { id }));
      if (globals.json && args.out === undefined) print({ chain: pem }, "");
      else write(pem);
    },
  }),
};

function caMembers(
  args: Given<typeof subjectArgs> & {
    readonly "key-type": string | undefined;
    readonly "validity-days": number | undefined;
  },
  classicalKeyType: string,
): Record<string, unknown> {
  const { label, cn, o, ou, c, st, l } = args;
  const constraints = constraintsOf(args);
  return {
    label,
    subject: { cn, o, ou, c, st, l },
    key_type: args["key-type"] ?? (args.algorithm === "pqc" ? "ml-dsa-65" : classicalKeyType),
    algorithm: args.algorithm === "classical" ? undefined : args.algorithm,
    alt_key_type: args["alt-key-type"],
    validity_days: args["validity-days"],
    max_path_len: args["path-len"],
    ...(constraints === undefined ? {} : { name_constraints: constraints }),
    ...policiesOf(args),
  };
}

function policiesOf(args: Given<typeof subjectArgs>): { readonly policies?: object } {
  const oids = args["policy-oid"];
  const more = {
    "policy-cps": args["policy-cps"],
    "policy-mapping": args["policy-mapping"].length === 0 ? undefined : args["policy-mapping"],
    "require-explicit-policy": args["require-explicit-policy"],
    "inhibit-policy-mapping": args["inhibit-policy-mapping"],
  };
  const alone = Object.entries(more).find(([, given]) => given !== undefined);
  if (oids.length > 0) {
    return {
      policies: {
        oids,
        cps: more["policy-cps"],
        mappings: more["policy-mapping"],
        require_explicit_policy: more["require-explicit-policy"],
        inhibit_policy_mapping: more["inhibit-policy-mapping"],
      },
    };
  }
  if (alone !== undefined) throw new UsageError(`--${alone[0]} needs --policy-oid.`);
  return {};
}

function constraintsOf(args: Given<typeof subjectArgs>): Record<string, unknown> | undefined {
  const side = (word: "permit" | "exclude"): Record<string, readonly unknown[]> => {
    const dirNames = args[`${word}-dirname`].map((name) =>
      directoryName(name, `--${word}-dirname`),
    );
    const texts = (["dns", "ip", "email", "uri"] as const).map(
      (kind): [string, readonly unknown[]] => [kind, args[`${word}-${kind}`]],
    );
    const all: [string, readonly unknown[]][] = [...texts, ["dir_names", dirNames]];
    return Object.fromEntries(all.filter(([, names]) => names.length > 0));
  };
  const [permitted, excluded] = [side("permit"), side("exclude")];
  if (Object.keys(permitted).length + Object.keys(excluded).length === 0) return undefined;
  return { permitted, excluded };
}

/** `/C=DE/O=Org` as the members of a subject. */
function directoryName(written: string, flag: string): Record<string, string> {
  const parts = written
    .split("/")
    .slice(1)
    .map((part) => part.split("="));
  const usable =
    written.startsWith("/") &&
    parts.every(([type = "", value = "", ...rest]) => {
      return /^(c|st|l|o|ou|cn)$/i.test(type) && value !== "" && rest.length === 0;
    });
  if (!usable || parts.length === 0) {
    throw new UsageError(`${flag} is written like /C=DE/O=Org, of C, ST, L, O, OU and CN.`);
  }
  return Object.fromEntries(parts.map(([type = "", value = ""]) => [type.toLowerCase(), value]));
}

/**
 * Says what the server has to say of a CA it has made; it knows its own configuration, wherever it
 * runs.
 */
function noteWarnings(ca: Created, note: (sentence: string) => void): void {
  const { warnings } = ca;
  if (!Array.isArray(warnings)) return;
  for (const warning of warnings) note(`warning: ${printable(String(warning))}`);
}

type Created = Answer<"ca.init_root"> | Answer<"ca.issue_intermediate">;

const created = (ca: Created): string =>
  facts(ca, ["id", "label", "serial", "not_before", "not_after"]) + pemOf(ca);

const pemOf = (ca: Created): string => textAt(ca, "certificate");
