/**
 * `pkid cert renew` and `cert needs-renewal`: the identity of a certificate again, once or for as
 * long as the process runs.
 */

import { instant, timestamp } from "#core/time.ts";

import { type Args, number, toggle, value, valueOr, word } from "#cli/args.ts";
import { certificateOf } from "#cli/certificate-reference.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { readTextArgument } from "#cli/io.ts";
import { issuedPrinter, outArgs } from "#cli/issued.ts";
import { secondsOf } from "#cli/open-reach.ts";
import { caArg } from "#cli/references.ts";
import { keptFresh } from "#cli/renewal-daemon.ts";
import { renewalDue } from "#cli/renewal.ts";
import { firstIn } from "#cli/renewed-files.ts";
import { facts, namesOf } from "#cli/rows.ts";
import { printVerdict } from "#cli/verdict.ts";

const args = {
  serial: word(),
  ca: caArg,
  csr: value("PKCS#10 request with the new key, - for stdin; else the key stays.", "file"),
  "validity-days": number("Validity in days, within the limits of the profile.", "days"),
  ...outArgs,
  daemon: toggle("Stay, and renew the certificate file in place whenever it is due."),
  key: value(
    "With --daemon: file of its key, which each renewal replaces by a new one; else the key stays.",
    "file",
  ),
  within: value(
    "With --daemon: renew when so much is left, at most two thirds of its life, not a third.",
    "duration",
  ),
  every: valueOr(
    "With --daemon: how often to look; up to a tenth more by chance.",
    "duration",
    "1h",
  ),
  exec: value(
    "With --daemon: line of the shell to run after each renewal, until it ends with 0.",
    "line",
  ),
  once: toggle("With --daemon: look once only; exit 1 when that failed."),
} as const satisfies Args;

export const certRenew: Command = command({
  summary: "Certify the identity of a certificate again, by its serial or its file.",
  args,
  run: async (invocation) => {
    const { args: given, client, io } = invocation;
    if (given.daemon) return await keptFresh(invocation);
    const idle = ["key", "within", "every", "exec", "once"].find((name) => invocation.given(name));
    if (idle !== undefined) throw new UsageError(`--${idle} is for --daemon.`);
    const printIssued = issuedPrinter(invocation);
    const csr = given.csr === undefined ? undefined : await readTextArgument(io, given.csr);
    const format = invocation.globals["serial-format"];
    const reference = { ca: given.ca, text: given.serial, format, writes: true };
    const { id, serial } = await certificateOf(client, io, reference);
    const validity_days = given["validity-days"];
    printIssued(await client.ask("cert.renew", { id, serial, csr, validity_days }));
    return 0;
  },
});

export const needsRenewal: Command = command({
  summary: "Say whether a certificate file is due: exit 0 when it is, 1 when not.",
  local: true,
  args: {
    file: word(),
    within: value(
      "Due when so much is left, at most two thirds of its life, not a third.",
      "duration",
    ),
  },
  run: async ({ args: { file, within }, io, print }) => {
    const seconds = within === undefined ? undefined : secondsOf("--within", within);
    // Exit 1 says that it is not due, so what cannot be read is exit 2.
    const { certificate } = await firstIn(io, file).catch((error) => {
      throw error instanceof Failure ? new UsageError(error.message) : error;
    });
    const found = renewalDue(certificate, seconds, instant(Date.now()));
    const told = {
      due: found.due,
      due_since: timestamp(found.since),
      not_after: timestamp(certificate.notAfter),
      remaining_seconds: found.remainingSeconds,
    };
    printVerdict(() => print(told, facts(told, namesOf(told))));
    return found.due ? 0 : 1;
  },
});
