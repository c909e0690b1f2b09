/** `pkid ca cross-sign`, `cross-signs`, `chains` and `delete`. */

import { number, pageArgs, required, toggle, value, word } from "#cli/args.ts";
import { readCertificateAndChain } from "#cli/certificate-files.ts";
import { type Command, command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { readTextArgument } from "#cli/io.ts";
import { openOut } from "#cli/out-file.ts";
import { caIdOf } from "#cli/references.ts";
import { columns, facts, rowAt, rowsAt, textAt } from "#cli/rows.ts";

export const crossVerbs: Readonly<Record<string, Command>> = {
  "cross-sign": command({
    summary: "Certify the name and key of another CA.",
    args: {
      issuer: required("CA that vouches, by id or label.", "ca"),
      "subject-ca": value("CA of this instance to vouch for, by id or label.", "ca"),
      cert: value("File of the certificate of a CA elsewhere: PEM, DER or PKCS#7.", "file"),
      csr: value("PEM file of the request of a CA elsewhere.", "file"),
      "validity-days": number(
        "Validity in days (what is left of the subject's; needed with --csr).",
        "days",
      ),
      "path-len": number("Most intermediates below the subject.", "n"),
      out: value("File to write certificate and bundle to instead of stdout.", "file"),
    },
    run: async ({ args, client, io, print }) => {
      const subject = args["subject-ca"];
      const one = [subject, args.cert, args.csr].filter((given) => given !== undefined);
      if (one.length !== 1) throw new UsageError("Give one of --subject-ca, --cert and --csr.");
      const write = openOut(io, args.out, "a CA certificate");
      const id = await caIdOf(client, args.issuer);
      const read = async (file: string | undefined) =>
        file === undefined ? undefined : await readTextArgument(io, file);
      const members = {
        id,
        subject_ca_id: subject === undefined ? undefined : await caIdOf(client, subject),
        certificate_pem:
          args.cert === undefined
            ? undefined
            : (await readCertificateAndChain(io, args.cert)).certificate,
        csr_pem: await read(args.csr),
        validity_days: args["validity-days"],
        max_path_len: args["path-len"],
      };
      const made = await client.ask("ca.cross_sign", members);
      const chain = textAt(made, "chain_pem");
      const head = facts(rowAt(made, "cross_sign"), ["id", "subject", "serial", "not_after"]);
      // What has been signed is told before the file is written, which can still fail.
      print(made, args.out === undefined ? head + chain : head);
      if (args.out !== undefined) write(chain);
    },
  }),
  "cross-signs": command({
    summary: "List the cross certificates a CA has made; revoke one with revoke cert.",
    args: { ca: word(), ...pageArgs },
    run: async ({ args: { ca, all, ...query }, client, print }) => {
      const id = await caIdOf(client, ca);
      const list = await client.list("ca.cross_signs", { id, ...query }, all);
      const keys = ["id", "subject", "serial", "status", "source", "not_after"] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  chains: command({
    summary: "Print every path from a CA to a root.",
    args: { ca: word(), out: value("File to write instead of stdout.", "file") },
    run: async ({ args, client, io, print, globals }) => {
      const write = openOut(io, args.out, "a CA certificate");
      const list = await client.ask("ca.chains", { id: await caIdOf(client, args.ca) });
      const paths = rowsAt(list, "items").map((row) => {
        const by = textAt(row, "issuer_label");
        return `# ${row.native === true ? "native" : "cross"}, by ${by}\n${textAt(row, "pem")}`;
      });
      if (globals.json && args.out === undefined) print(list, "");
      else write(paths.join("\n"));
    },
  }),
  delete: command({
    summary: "Delete a CA that nothing depends on.",
    destroys: "The CA is gone for good.",
    args: { ca: word(), "destroy-key": toggle("Destroy its key too, for good.") },
    run: async ({ args, client, print }) => {
      const id = await caIdOf(client, args.ca);
      const destroy_key = args["destroy-key"] || undefined;
      const deleted = await client.ask("ca.delete", { id, destroy_key });
      print(deleted, facts(deleted, ["status"]));
    },
  }),
};
