/** `pkid publish`: makes a snapshot for relying parties, and checks one without any key. */

import { resolve } from "node:path";

import { DerError } from "#core/asn1/cursor.ts";
import { faultOf } from "#core/publishing/judge.ts";
import {
  type Artefact,
  BadManifest,
  type Manifest,
  parseManifest,
} from "#core/publishing/manifest.ts";
import { type Instant, instant, timestamp } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";

import { toggle, value, word } from "#cli/args.ts";
import { secondsOf } from "#cli/open-reach.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import { openSnapshot, type SnapshotReader, Unreadable } from "#cli/published.ts";
import { caIdOf } from "#cli/references.ts";
import { columns, facts } from "#cli/rows.ts";

export const publishVerbs: Readonly<Record<string, Command>> = {
  run: {
    ...command({
      summary: "Publish a snapshot of certificates, CRLs and OCSP answers now.",
      args: {
        ca: value("Id or label of a CA; without it every CA that is published.", "ca"),
        out: value("Directory to publish into instead of the configured target.", "dir"),
        "skip-ocsp": toggle("Leave the OCSP answers out."),
      },
      run: async ({ args, client, print }) => {
        const { ca, out } = args;
        const report = await client.ask("publish.run", {
          ca_id: ca === undefined ? undefined : await caIdOf(client, ca),
          out: out === undefined ? undefined : resolve(out),
          skip_ocsp: args["skip-ocsp"] || undefined,
        });
        print(report, facts(report, ["target", "artifacts", "earliest_expiry"]));
      },
    }),
    local: true,
  },
  verify: command({
    summary: "Check digests, signatures and freshness of a published snapshot, without any key.",
    args: { where: word() },
    run: async ({ args, globals, io, print }) => {
      const snapshot = openSnapshot(args.where, {
        caFile: globals["ca-file"] ?? io.env.PKID_CA_FILE,
        timeoutMs: secondsOf("--timeout", globals.timeout) * 1000,
      });
      const report = await verified(snapshot, instant(Date.now()));
      const faults = columns(report.faults, ["path", "fault"]);
      const told = facts(report, ["generated_at", "earliest_expiry", "artifacts", "good"]);
      print(report, report.faults.length === 0 ? told : `${told}\n${faults}`);
      return report.faults.length === 0 ? 0 : 1;
    },
  }),
};

/**
 * Reads every artefact once, one after the other, so that a snapshot of any size takes the memory
 * of one.
 */
async function verified(snapshot: SnapshotReader, now: Instant) {
  const manifest = await manifestOf(snapshot);
  const issuers = new Map<string, ParsedCertificate | undefined>();
  const faults: { readonly path: string; readonly fault: string }[] = [];
  for (const artefact of manifest.artefacts) {
    const fault = await judged(snapshot, artefact, issuers, now);
    if (fault !== undefined) faults.push({ path: artefact.path, fault: `${fault}.` });
  }
  const { earliestExpiry, generatedAt, artefacts } = manifest;
  return {
    generated_at: timestamp(generatedAt),
    ...(earliestExpiry === undefined ? {} : { earliest_expiry: timestamp(earliestExpiry) }),
    artifacts: artefacts.length,
    good: artefacts.length - faults.length,
    faults,
  };
}

async function manifestOf(snapshot: SnapshotReader): Promise<Manifest> {
  try {
    const octets = await snapshot.read("manifest.json", manifestBytesMax);
    if (octets === undefined) throw new Failure(`There is no manifest.json at ${snapshot.where}.`);
    return parseManifest(new TextDecoder().decode(octets));
  } catch (error) {
    if (error instanceof Unreadable)
      throw new Failure(`The manifest.json at ${snapshot.where}: ${error.message}.`);
    if (error instanceof BadManifest)
      throw new Failure(`The manifest cannot be read: ${error.message}.`);
    throw error;
  }
}

async function judged(
  snapshot: SnapshotReader,
  artefact: Artefact,
  issuers: Map<string, ParsedCertificate | undefined>,
  now: Instant,
): Promise<string | undefined> {
  const folder = artefact.path.split("/")[0] ?? "";
  if (!issuers.has(folder)) issuers.set(folder, await issuerIn(snapshot, folder));
  const issuer = issuers.get(folder);
  if (issuer === undefined) return `the certificate of its CA, ${folder}/ca.der, cannot be read`;
  try {
    const octets = await snapshot.read(artefact.path, artefact.size);
    if (octets === undefined) return "it is missing, or longer than the manifest says";
    return faultOf(artefact, octets, issuer, now);
  } catch (error) {
    if (error instanceof Unreadable) return error.message;
    throw error;
  }
}

async function issuerIn(snapshot: SnapshotReader, folder: string) {
  try {
    const der = await snapshot.read(`${folder}/ca.der`, certificateBytesMax);
    return der && parseCertificate(der);
  } catch (error) {
    if (error instanceof DerError || error instanceof Unreadable) return undefined;
    throw error;
  }
}

const manifestBytesMax = 512 * 1024 * 1024;
const certificateBytesMax = 64 * 1024;
