/** `pkid cert issue`: certifies a request, or names with a key that is made here and never sent. */

import { resolve } from "node:path";

import { type Args, keyType, many, number, toggle, value, valueOr } from "#cli/args.ts";
import type { Answer } from "#cli/client.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { Failure, Refusal, UsageError } from "#cli/failure.ts";
import { readTextArgument } from "#cli/io.ts";
import { issuedPrinter, outArgs } from "#cli/issued.ts";
import { mustBeNew, writeKeyFile } from "#cli/new-key-file.ts";
import {
  newKey,
  requestFor,
  type SubscriberKeyType,
  subscriberKeyTypes,
} from "#cli/new-request.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { gateReason } from "#cli/refusal-text.ts";
import { facts, rowsAt, table, textAt } from "#cli/rows.ts";

const args = {
  ca: caArg,
  csr: value("PKCS#10 request in PEM, - for stdin.", "file"),
  name: many("Host name or address to certify with a key made here, instead of --csr.", "name"),
  "key-out": value("New file for that key, which stays on this machine.", "file"),
  "key-type": keyType("Type of that key, ecdsa-p256 when not given.", subscriberKeyTypes),
  profile: valueOr("Profile.", "name", "server"),
  "validity-days": number("Validity in days, within the limits of the profile.", "days"),
  "must-staple": toggle("Ask for the must-staple extension, where the profile allows it."),
  ...outArgs,
  "dry-run": toggle("Say what every gate would answer, and issue nothing."),
} as const satisfies Args;

type Issue = Invocation<typeof args>;

export const certIssue: Command = command({
  summary: "Issue a certificate for a request. --name makes key and request here.",
  args,
  run: async (invocation) => {
    const { args: given, client, print } = invocation;
    checkTogether(given);
    const printIssued = issuedPrinter(invocation);
    if (given["key-out"] !== undefined) mustBeNew(given["key-out"]);
    const made = given.csr === undefined ? madeRequest(given) : undefined;
    const csr = made?.csr ?? (await readTextArgument(invocation.io, given.csr ?? "-"));
    const id = await caIdOf(client, given.ca);
    const { profile, "validity-days": validity_days } = given;
    const must_staple = given["must-staple"] || undefined;
    const members = { id, csr, profile, validity_days, must_staple };
    if (given["dry-run"]) {
      const preview = await client.ask("cert.preview", members);
      print(preview, facts(preview, previewed) + gatesText(preview));
      return preview.would_issue === true ? 0 : 1;
    }
    const issue = () => client.ask("cert.issue", members);
    printIssued(await issuedFor(invocation, made?.key, issue));
    return 0;
  },
});

function checkTogether(given: Issue["args"]): void {
  const named = given.name.length > 0;
  if (!named && given.csr === undefined) {
    const sentence = "--name <name> with --key-out <file> makes key and request here instead.";
    throw new UsageError(`--csr <file> is required. ${sentence}`);
  }
  if (named && given.csr !== undefined) {
    throw new UsageError("Only one of --csr and --name may be given.");
  }
  if (given["dry-run"] && (given.out !== undefined || given.chain)) {
    throw new UsageError("--dry-run excludes --out and --chain.");
  }
  if (!named && (given["key-out"] !== undefined || given["key-type"] !== undefined)) {
    throw new UsageError("--key-out and --key-type are for --name.");
  }
  if (named && given["key-out"] === undefined && !given["dry-run"]) {
    throw new UsageError("--name makes a key: --key-out <file> says where it goes.");
  }
  const { out, "key-out": keyOut } = given;
  if (keyOut !== undefined && out !== undefined && resolve(keyOut) === resolve(out)) {
    throw new UsageError("--key-out and --out must name two files.");
  }
  if (given["dry-run"] && given["key-out"] !== undefined) {
    throw new UsageError("--dry-run keeps no key; leave --key-out out.");
  }
}

function madeRequest(given: Issue["args"]) {
  // The flag takes no other types, and its aliases are of these.
  const type = subscriberKeyTypes.find((one) => one === given["key-type"]) ?? aliased(given);
  const key = newKey(type);
  return { key, csr: requestFor(key, given.name) };
}

function aliased(given: Issue["args"]): SubscriberKeyType {
  const bits = /^ecdsa-sha2-nistp(256|384|521)$/.exec(given["key-type"] ?? "")?.[1] ?? "256";
  return subscriberKeyTypes.find((one) => one === `ecdsa-p${bits}`) ?? "ecdsa-p256";
}

/**
 * The key is on the disk before it is certified, and gone again when the instance has refused for
 * certain.
 */
async function issuedFor(
  { args: given, note }: Issue,
  key: ReturnType<typeof newKey> | undefined,
  issue: () => Promise<Answer<"cert.issue">>,
): Promise<Answer<"cert.issue">> {
  if (key === undefined || given["key-out"] === undefined) return await issue();
  const kept = writeKeyFile(given["key-out"], key);
  try {
    return await issue();
  } catch (error) {
    if (error instanceof Refusal && error.isFinal) kept.discard();
    else if (error instanceof Failure || error instanceof Refusal)
      note(`The key is in ${kept.file}.`);
    throw error;
  }
}

/** Every gate with what it found. */
function gatesText(preview: Answer<"cert.preview">): string {
  const rows = rowsAt(preview, "gates").map((gate) => [
    textAt(gate, "name"),
    textAt(gate, "status"),
    gateReason(gate),
  ]);
  return `\n${table(["gate", "status", "why"], rows)}`;
}

const previewed = [
  "decision",
  "profile",
  "subject",
  "sans",
  "key_usages",
  "ext_key_usages",
  "not_before",
  "not_after",
  "validity_days",
  "max_validity_days",
  "must_staple",
] as const;
