/**
 * `pkid cert renew` and `cert needs-renewal`: the identity of a certificate again, once or for as
 * long as the process runs.
 */

import { decodePem } from "#core/asn1/pem.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { instant, timestamp } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";

import { type Args, number, toggle, value, valueOr, word } from "#cli/args.ts";
import { readCertificates } from "#cli/certificate-files.ts";
import { certificateOf } from "#cli/certificate-reference.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { Failure, Refusal, UsageError } from "#cli/failure.ts";
import { type Io, readTextArgument } from "#cli/io.ts";
import { issuedPrinter, outArgs } from "#cli/issued.ts";
import { secondsOf } from "#cli/open-reach.ts";
import { outFile } from "#cli/out-file.ts";
import { caArg } from "#cli/references.ts";
import { renewalDue } from "#cli/renewal.ts";
import { facts, namesOf, textAt } from "#cli/rows.ts";
import { printVerdict } from "#cli/verdict.ts";

const args = {
  serial: word(),
  ca: caArg,
  csr: value("PKCS#10 request with the new key, - for stdin; else the key stays.", "file"),
  "validity-days": number("Validity in days, within the limits of the profile.", "days"),
  ...outArgs,
  daemon: toggle("Stay, and renew the certificate file in place whenever it is due."),
  within: value(
    "With --daemon: renew when so much is left, at most two thirds of its life, not a third.",
    "duration",
  ),
  every: valueOr("With --daemon: how often to look.", "duration", "1h"),
  exec: value("With --daemon: line of the shell to run after each renewal.", "line"),
} as const satisfies Args;

type Renew = Invocation<typeof args>;

export const certRenew: Command = command({
  summary: "Certify the identity of a certificate again, by its serial or its file.",
  args,
  run: async (invocation) => {
    const { args: given, client, io } = invocation;
    if (given.daemon) return await stayed(invocation);
    const idle = ["within", "every", "exec"].find((name) => invocation.given(name));
    if (idle !== undefined) throw new UsageError(`--${idle} is for --daemon.`);
    const printIssued = issuedPrinter(invocation);
    const csr = given.csr === undefined ? undefined : await readTextArgument(io, given.csr);
    const reference = { ca: given.ca, given: given.serial };
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

/**
 * Looks, renews when due, sleeps; ends only with the process. What fails is said and tried again.
 */
async function stayed(invocation: Renew): Promise<number> {
  const { args: given, complain } = invocation;
  const idle = ["csr", "out", "chain"].find((name) => invocation.given(name));
  if (idle !== undefined)
    throw new UsageError(`--daemon renews the file in place, without --${idle}.`);
  const every = secondsOf("--every", given.every);
  if (every < 1) throw new UsageError("--every must be at least 1s.");
  const within = given.within === undefined ? undefined : secondsOf("--within", given.within);
  if (given.serial === "-") throw new UsageError("--daemon renews a file, and - is none.");
  // The first look is taken before anybody relies on the process; what is wrong with the line or
  // the file ends it.
  await firstIn(invocation.io, given.serial);
  outFile(given.serial, "a certificate", 0o644);
  // As it was before the settings of an instance put a proxy with its password into it.
  const env = withoutSettings(process.env);
  for (let failures = 0; ; ) {
    try {
      await renewedIfDue(invocation, { within, env });
      failures = 0;
    } catch (error) {
      if (!(error instanceof Failure || error instanceof Refusal)) throw error;
      failures++;
      const at = new Date().toISOString();
      complain(`${at} ${given.serial} was not renewed: ${error.message}`, error);
    } finally {
      await invocation.client.close();
    }
    await Bun.sleep(pauseMs(every, failures));
  }
}

/**
 * A minute after the first failure, twice as long after each further one, never longer than between
 * looks.
 */
function pauseMs(everySeconds: number, failures: number): number {
  if (failures === 0) return everySeconds * 1000;
  return Math.min(everySeconds, retrySeconds * 2 ** Math.min(failures - 1, 10)) * 1000;
}

async function renewedIfDue(
  invocation: Renew,
  { within, env }: { readonly within: number | undefined; readonly env: Environment },
): Promise<void> {
  const { args: given, client, io, note, complain } = invocation;
  const file = given.serial;
  const { certificate, count } = await firstIn(io, file);
  if (!renewalDue(certificate, within, instant(Date.now())).due) return;
  const write = outFile(file, "a certificate", 0o644);
  const { id, serial } = await certificateOf(client, io, { ca: given.ca, given: file });
  const validity_days = given["validity-days"];
  const issued = await client.ask("cert.renew", { id, serial, validity_days });
  write(textAt(issued, count > 1 ? "chain" : "certificate"));
  note(`${new Date().toISOString()} ${file} was renewed until ${textAt(issued, "not_after")}.`);
  if (given.exec !== undefined) await hook(given.exec, file, { complain, env });
}

interface HookTools {
  readonly complain: (sentence: string) => void;
  readonly env: Environment;
}

/** The file is renewed whatever the hook does; how that ended is said. */
async function hook(line: string, file: string, { complain, env }: HookTools): Promise<void> {
  const child = Bun.spawn(["/bin/sh", "-c", line], {
    env: { ...env, PKID_CERT_FILE: file },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    timeout: hookMs,
  });
  const code = await child.exited;
  if (code !== 0) complain(`${new Date().toISOString()} "${line}" ended with ${code}.`);
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A hook may ask an instance, and be told which; what the settings of one hold (PINs, passwords,
 * tokens) is not its business.
 */
function withoutSettings(env: Environment): Environment {
  const kept = Object.entries(env).filter(
    ([name]) => !name.startsWith("PKID_") || hookVariables.includes(name),
  );
  return Object.fromEntries(kept);
}

/** The first certificate of a file, and how many there are. Fails for a file without one. */
async function firstIn(io: Io, file: string) {
  const pems = await readCertificates(io, file);
  const der = decodePem(pems[0] ?? "", ["CERTIFICATE"]);
  if (der === undefined) throw new Failure(`${file} holds no certificate.`);
  return { certificate: parsed(file, der), count: pems.length };
}

function parsed(file: string, der: Uint8Array): ParsedCertificate {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`The certificate in ${file} is malformed: ${error.message}.`);
  }
}

const hookVariables = ["PKID_URL", "PKID_CA_FILE", "PKID_CONFIG", "PKID_DATA_DIR"];
const retrySeconds = 60;
/** A hook that hangs must not keep the certificate from its next renewal. */
const hookMs = 300_000;
