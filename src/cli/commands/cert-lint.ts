/** `pkid cert lint`: holds a certificate file against the lint rules. */

import { encodePem } from "#core/asn1/pem.ts";

import { oneOf, toggle, value, word } from "#cli/args.ts";
import type { Answer } from "#cli/client.ts";
import { command } from "#cli/command.ts";
import { readArgument } from "#cli/io.ts";
import { type ItemIn, rowsAt, table, textAt } from "#cli/rows.ts";

/** Ends with 1 when a rule that is enforced fails. */
export const lintVerb = command({
  summary: "Hold a certificate against the lint rules; 1 when one that is enforced fails.",
  args: {
    file: word(),
    profile: value("Profile whose settings and longest validity count.", "name"),
    public: toggle("Apply the rules of publicly trusted certificates."),
    mode: oneOf("What failing rules mean, instead of the profile's word.", "mode", [
      "enforce",
      "warn",
    ]),
  },
  run: async ({ args, io, client, print }) => {
    const members = {
      certificate: pemOf(await readArgument(io, args.file)),
      profile: args.profile,
      mode: args.mode,
      public: args.public || undefined,
    };
    const report = await client.ask("cert.lint", members);
    print(report, `${findingsText(rowsAt(report, "findings"))}${textAt(report, "summary")}\n`);
    return report.pass === true ? 0 : 1;
  },
});

/** What does not look like PEM is taken for DER, and refused by the server when it is neither. */
function pemOf(octets: Uint8Array): string {
  const text = new TextDecoder().decode(octets);
  return text.includes("-----BEGIN") ? text : encodePem("CERTIFICATE", octets);
}

type Finding = ItemIn<Answer<"cert.lint">, "findings">;

function findingsText(findings: readonly Finding[]): string {
  if (findings.length === 0) return "";
  const keys = ["mode", "code", "clause", "description"] as const;
  return table(
    keys,
    findings.map((finding) => keys.map((key) => textAt(finding, key))),
  );
}
