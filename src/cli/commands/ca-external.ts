/** `pkid ca csr` and `ca import-cert`: CAs that a root somewhere else certifies. */

import { type Args, keyType, number, required, tenantArg, toggle, value, word } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { readCertificateAndChain, readCertificates } from "#cli/certificate-files.ts";
import { openOut } from "#cli/out-file.ts";
import { caIdOf } from "#cli/references.ts";
import { facts, rowAt, textAt } from "#cli/rows.ts";

const subject = {
  cn: required("Common name.", "name"),
  o: value("Organization.", "name"),
  ou: value("Organizational unit.", "name"),
  c: value("Country, two letters.", "code"),
  st: value("State or province.", "name"),
  l: value("Locality.", "name"),
} as const satisfies Args;

export const externalVerbs: Readonly<Record<string, Command>> = {
  csr: command({
    summary: "Make the key and the request of a CA that another root will certify.",
    args: {
      label: required("Label, 1 to 64 of A-Z a-z 0-9 . _ -", "label"),
      ...subject,
      "key-type": keyType("Key type, ecdsa-p384 when not given."),
      "path-len": number("Most intermediates below this one.", "n"),
      tenant: tenantArg,
      out: value("File to write the request to instead of stdout.", "file"),
    },
    run: async ({ args, client, io, print }) => {
      const write = openOut(io, args.out, "a request");
      const { label, cn, o, ou, c, st, l } = args;
      const members = {
        label,
        subject: { cn, o, ou, c, st, l },
        key_type: args["key-type"] ?? "ecdsa-p384",
        max_path_len: args["path-len"],
        tenant_id: args.tenant,
      };
      const made = await client.ask("ca.csr", members);
      const pem = textAt(made, "csr_pem");
      const toFile = args.out !== undefined && args.out !== "-";
      if (toFile) write(pem);
      const head = facts(rowAt(made, "ca"), ["id", "label", "status", "subject", "key_type"]);
      print(made, toFile ? head : head + pem);
    },
  }),
  "import-cert": command({
    summary: "Give a CA the certificate its external issuer made.",
    args: {
      ca: word(),
      cert: required("File of the certificate: PEM, DER or PKCS#7.", "file"),
      chain: value("File of the certificates above it; else what follows in --cert.", "file"),
      replace: toggle("Replace the certificate of an active CA by one for the same key and name."),
    },
    run: async ({ args, client, io, print, note }) => {
      const id = await caIdOf(client, args.ca);
      const { certificate, rest } = await readCertificateAndChain(io, args.cert);
      const chain = args.chain === undefined ? rest : await readCertificates(io, args.chain);
      const members = {
        id,
        certificate_pem: certificate,
        chain_pem: chain.length === 0 ? undefined : chain.join(""),
        replace: args.replace,
      };
      const imported = await client.ask("ca.import_cert", members);
      const warnings = textAt(imported, "warnings");
      if (warnings !== "") note(`Worth a look: ${warnings.replaceAll(",", ", ")}.`);
      const keys = [
        "id",
        "label",
        "status",
        "subject",
        "serial",
        "not_before",
        "not_after",
      ] as const;
      print(imported, facts(rowAt(imported, "ca"), keys) + textAt(imported, "chain_pem"));
    },
  }),
};
