/**
 * A world with issuance and revocation for rollover tests, and openssl's word on the paths in it.
 */

import { encodePem } from "#core/asn1/pem.ts";
import { Retirement } from "#domain/hierarchy/retire.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";
import { caRequest, initRoot, rootOrigin, type WorldOptions } from "./issuance.ts";
import { revokingWorld } from "./revoking-world.ts";

/** Everything wired as the application wires it, with a root and one issuing CA below it. */
export async function rolloverWorld(options: WorldOptions = {}) {
  const world = revokingWorld(options);
  const retirement = new Retirement(world);
  const root = await initRoot(world);
  const issuing = await world.authorities.issueIntermediate(
    rootOrigin,
    root,
    caRequest({ label: "issuing", maxPathLength: 0 }),
  );
  return { ...world, retirement, root, issuing };
}

/**
 * From now on the first look at this CA as a signer is followed by its rotation, so that whoever
 * looked meets a superseded CA when it intends. Gives the number of rotations so far.
 */
export function rotateAfterLook(
  world: Pick<Awaited<ReturnType<typeof rolloverWorld>>, "signers" | "authorities">,
  ca: CaRecord,
): () => number {
  const looked = world.signers.signer.bind(world.signers);
  let rotations = 0;
  world.signers.signer = async (named, now) => {
    const signer = await looked(named, now);
    if (named.id === ca.id && rotations === 0) {
      rotations++;
      await world.authorities.rotate(rootOrigin, ca, sameAgain);
    }
    return signer;
  };
  return () => rotations;
}

/** The request that changes nothing but the key. */
export const sameAgain = { label: undefined, keyType: undefined, validityDays: undefined };

/**
 * True when `openssl verify` accepts the leaf at the time, trusting only `trusted`, with the
 * bundle's certificates as untrusted help; `partial` lets a trusted certificate that is no root end
 * the path.
 */
export function opensslVerifies(options: {
  readonly leaf: Uint8Array;
  readonly trusted: readonly Uint8Array[];
  readonly untrustedPem: string;
  readonly at: number;
  readonly partial?: boolean;
  readonly crlPem?: string;
}): boolean {
  using scratch = scratchDirectory();
  const pem = (der: Uint8Array) => encodePem("CERTIFICATE", der);
  const trusted = scratch.write("trusted.pem", options.trusted.map(pem).join(""));
  const crl = options.crlPem === undefined ? [] : ["-crl_check", "-CRLfile"];
  const run = Bun.spawnSync([
    "openssl",
    "verify",
    "-x509_strict",
    "-attime",
    String(Math.floor(options.at / 1000)),
    ...(options.partial ? ["-partial_chain"] : []),
    ...(crl.length > 0 ? [...crl, scratch.write("crl.pem", options.crlPem ?? "")] : []),
    "-no-CAfile",
    "-no-CApath",
    "-trusted",
    trusted,
    ...(options.untrustedPem === ""
      ? []
      : ["-untrusted", scratch.write("bundle.pem", options.untrustedPem)]),
    scratch.write("leaf.pem", pem(options.leaf)),
  ]);
  return run.exitCode === 0;
}

/** The certificate every certified CA has. */
export function certificateOf(ca: CaRecord): Uint8Array {
  if (ca.certificate === undefined) throw new Error(`${ca.label} has no certificate`);
  return ca.certificate;
}
