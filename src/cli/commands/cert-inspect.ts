/**
 * `pkid cert inspect`: says what is in a file, at an address, or what a TLS server shows; asks no
 * instance.
 */

import { encodePem } from "#core/asn1/pem.ts";

import { type Args, value, word } from "#cli/args.ts";
import { certificateText } from "#cli/certificate-text.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import { type Inspected, inspect } from "#cli/inspected.ts";
import { readArgument, readTextArgument } from "#cli/io.ts";
import { fetched } from "#cli/published.ts";
import { secondsOf } from "#cli/open-reach.ts";
import { trustedCas } from "#cli/reach.ts";
import { columns, facts, namesOf, type Row, rowOf, rowsAt, textAt } from "#cli/rows.ts";
import { servedPath } from "#cli/served-path.ts";

const args = {
  file: word(),
  "passphrase-file": value("File with the passphrase of a PKCS#12 store, - for stdin.", "file"),
} as const satisfies Args;

type Inspect = Invocation<typeof args>;

/**
 * Ends with 1 for what cannot be read; an address without a path is asked for the certificates it
 * shows.
 */
export const certInspect: Command = command({
  summary: "Say what is in a file, at an address, or what a TLS server shows.",
  local: true,
  args,
  run: async (invocation) => {
    const { args: given, io, print, note } = invocation;
    const secret = given["passphrase-file"];
    const passphrase =
      secret === undefined ? undefined : (await readTextArgument(io, secret)).replace(/\r?\n$/, "");
    const { octets, fault } = await sourceOf(invocation);
    const items = await inspect(octets, passphrase);
    print({ items, ...(fault === undefined ? {} : { untrusted: fault }) }, text(items));
    if (fault !== undefined) note(`This machine does not trust it: ${fault}.`);
    return items.every((item) => item.kind !== "unknown" && item.fault === undefined) ? 0 : 1;
  },
});

async function sourceOf({ args: { file }, globals, io }: Inspect) {
  const url = /^https?:\/\//i.test(file) && URL.canParse(file) ? new URL(file) : undefined;
  const nothing = { fault: undefined };
  if (url === undefined) return { octets: await readArgument(io, file, bytesMax), ...nothing };
  const timeoutMs = secondsOf("--timeout", globals.timeout) * 1000;
  const caFile = globals["ca-file"] ?? io.env.PKID_CA_FILE;
  if (url.protocol === "https:" && url.pathname === "/" && url.search === "") {
    const ca = caFile === undefined ? undefined : trustedCas(caFile);
    const { certificates, fault } = await servedPath(url, { ca, timeoutMs });
    const pem = certificates.map((der) => encodePem("CERTIFICATE", der)).join("");
    return { octets: new TextEncoder().encode(pem), fault };
  }
  const octets = await fetched(url.href, { caFile, timeoutMs, bytesMax });
  if (octets === undefined) throw new Failure(`${url.href} answered nothing that can be read.`);
  return { octets, ...nothing };
}

const text = (items: readonly Inspected[]): string => items.map(itemText).join("\n");

function itemText(item: Inspected): string {
  const head = facts(item, ["kind"]);
  if (item.kind === "certificate" && item.fault === undefined) {
    const own = facts(item, ["serial", "serial_hex"]);
    return head + own + certificateText(textAt(item, "pem")) + textAt(item, "pem");
  }
  const { kind: _, entries: _entries, answers: _answers, ...plain } = rowOf(item);
  const lists = [listText(item, "entries", crlKeys), listText(item, "answers", answerKeys)];
  return head + facts(plain, namesOf(plain)) + lists.join("");
}

function listText(item: Row, key: string, keys: readonly string[]): string {
  const rows = rowsAt(item, key).slice(0, shownMax);
  return rows.length === 0 ? "" : `\n${columns(rows, keys)}`;
}

const crlKeys = ["serial", "revoked_at", "reason"] as const;
const answerKeys = ["serial", "status", "reason", "this_update", "next_update"] as const;
const shownMax = 20;
const bytesMax = 64 * 1024 * 1024;
