/** `pkid ocsp`: asks a responder and judges its answer. */

import type { Serial } from "#core/ids.ts";
import { instant, timestamp } from "#core/time.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";

import { type Args, toggle, value, word } from "#cli/args.ts";
import { certificateOf } from "#cli/certificate-reference.ts";
import { type Command, command, type Invocation } from "#cli/command.ts";
import type { Client } from "#cli/client.ts";
import { Failure, Refusal } from "#cli/failure.ts";
import { issuerFrom } from "#cli/issuer-certificate.ts";
import { judgeAnswer, type Verdict } from "#core/x509/ocsp-verdict.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { postTo } from "#cli/reach.ts";
import { facts, textAt } from "#cli/rows.ts";

export const ocspVerbs: Readonly<Record<string, Command>> = {
  check: command({
    summary:
      "Ask for the status of a certificate and verify signature and freshness of the answer.",
    args: {
      serial: word(),
      ca: caArg,
      url: value("Address of another responder instead of this instance.", "url"),
      nonce: toggle("Send a nonce and insist on it."),
    },
    run: async (invocation) => {
      const { args, globals, client, io, print } = invocation;
      const format = globals["serial-format"];
      const argument = { ca: args.ca, text: args.serial, format, writes: false };
      const found = await certificateOf(client, io, argument);
      const id = await findIssuerId(client, found);
      const about = { id, serial: found.serial, nonce: args.nonce, url: args.url };
      const verdict = await checkStatus(invocation, about);
      print(verdictJson(verdict), facts(verdictJson(verdict), shown));
      if (verdict.trusted) return 0;
      throw new Failure(`The answer cannot be trusted: ${verdict.fault}`, "ocsp_untrusted");
    },
  }),
  presign: {
    ...command({
      summary: "Sign OCSP answers ahead, for every certificate or those of one CA.",
      args: { ca: value("Id or label of a CA; without it every CA is swept.", "ca") },
      run: async ({ args, client, print }) => {
        const ca_id = args.ca === undefined ? undefined : await caIdOf(client, args.ca);
        const report = await client.ask("ocsp.presign", { ca_id });
        print(report, facts(report, ["responses", "duration_seconds"]));
      },
    }),
    local: true,
  },
};

/**
 * Returns the CA whose key signed the certificate, which after a roll-over may be another one than
 * the user names. An unknown serial concerns the named CA.
 */
async function findIssuerId(
  client: Client,
  { id, serial }: { readonly id: string; readonly serial: Serial },
): Promise<string> {
  try {
    return textAt(await client.ask("cert.show", { id, serial }), "ca_id");
  } catch (error) {
    if (error instanceof Refusal) return id;
    throw error;
  }
}

/** Asks this instance, or the responder at `url`, about one serial and judges the answer. */
export async function checkStatus(
  { client }: Pick<Invocation<Args>, "client">,
  about: { id: string; serial: Serial; nonce: boolean; url?: string | undefined },
): Promise<Verdict> {
  const { id, serial } = about;
  const issuer = issuerFrom(await client.fetch("ca.certificate", { id }));
  const nonce = about.nonce ? crypto.getRandomValues(new Uint8Array(32)) : undefined;
  const request = encodeOcspRequest({
    issuerName: issuer.subject.der,
    issuerSpki: issuer.spki,
    serial,
    nonce,
    // RFC 5019 §2.1.1 and RFC 9654: SHA-1 here names a key, it protects nothing, and every
    // responder knows it.
    hash: "sha1",
  });
  const body = { type: "application/ocsp-request", content: request };
  const response =
    about.url === undefined
      ? await client.post("ocsp.post", { id }, body)
      : await postTo(about.url, body);
  const answer = new Uint8Array(await response.arrayBuffer());
  return judgeAnswer(answer, { issuer, serial, nonce, now: instant(Date.now()) });
}

export const verdictJson = (verdict: Verdict) => ({
  status: verdict.status,
  trusted: verdict.trusted,
  ...(verdict.fault === undefined ? {} : { fault: verdict.fault }),
  ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
  ...(verdict.revokedAt === undefined ? {} : { revoked_at: timestamp(verdict.revokedAt) }),
  ...(verdict.thisUpdate === undefined ? {} : { this_update: timestamp(verdict.thisUpdate) }),
  ...(verdict.nextUpdate === undefined ? {} : { next_update: timestamp(verdict.nextUpdate) }),
  ...(verdict.responder === undefined ? {} : { responder: verdict.responder }),
  nonce: verdict.nonce,
});

const shown = [
  "status",
  "reason",
  "revoked_at",
  "this_update",
  "next_update",
  "responder",
  "nonce",
] as const;
