/** The certificate the main listener shows: the operator's files, or one pkid issues and renews for itself. */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

import { belongTogether, newServingKey, type ServingFiles } from "#adapters/serving-files.ts";
import type { Config } from "#config/schema.ts";
import { hostIn } from "#core/policy/host-names.ts";
import { refuse } from "#core/problems.ts";
import type { Serving, ServingWish } from "#domain/authorities/serving.ts";
import type { Clock } from "#domain/ports.ts";
import type { TlsMaterial } from "#http/port.ts";

export interface ServingCertificateDeps {
  readonly serving: Serving;
  readonly files: ServingFiles;
  readonly clock: Clock;
}

/**
 * What to serve with. Undefined when the configuration asks for cleartext. An own certificate is made when there is
 * none, when two thirds of its life are over, or when it lacks a configured name (CFG-11).
 */
export async function servingMaterial(
  deps: ServingCertificateDeps,
  config: Config["server"],
  cleartext: boolean,
): Promise<TlsMaterial | undefined> {
  if (config.tls_cert !== undefined && config.tls_key !== undefined) {
    const material = configured(config.tls_cert, config.tls_key);
    await deps.serving.claim(publicKeyOf(material.certificate));
    return material;
  }
  if (cleartext) return undefined;
  const kept = deps.files.read();
  if (kept !== undefined && stillGood(kept.certificate, config, deps.clock)) return kept;
  try {
    return await issue(deps, config);
  } catch (error) {
    // Before its own CA began no other can be made, and whoever sets the clock right must be let in.
    if (kept === undefined || !fromTheFuture(kept.certificate, deps.clock)) throw error;
    return kept;
  }
}

/** True for one made under a clock that has been set back since. */
const fromTheFuture = (pem: string, clock: Clock): boolean =>
  new X509Certificate(pem).validFromDate.getTime() > clock.now();

const publicKeyOf = (pem: string): Uint8Array =>
  new X509Certificate(pem).publicKey.export({ type: "spki", format: "der" });

function configured(certificateFile: string, keyFile: string): TlsMaterial {
  const certificate = readFileSync(certificateFile, "utf8");
  const key = readFileSync(keyFile, "utf8");
  if (!belongTogether(key, certificate)) {
    const reason = "server.tls_cert and server.tls_key do not belong together";
    throw refuse("unprocessable", { reason }, `${reason}.`);
  }
  return { certificate, key };
}

async function issue(
  { serving, files }: ServingCertificateDeps,
  config: Config["server"],
): Promise<TlsMaterial> {
  const { key, spki } = newServingKey();
  const issued = await serving.certify(await serving.internalCa(), wishOf(config, spki));
  // Its own CA goes along: who was told the fingerprint of that CA finds it by asking the server (cli.md, trust fetch).
  const material = { key, certificate: issued.chainPem + issued.caPem };
  files.write(material);
  files.writeCa(issued.caPem);
  return material;
}

function wishOf(config: Config["server"], spki: Uint8Array): ServingWish {
  const own = config.tls.self_issue;
  const host = config.public_url === undefined ? [] : [new URL(config.public_url).hostname];
  // What the common name says is certified as a name too, or the lint would refuse what it says.
  const called = hostIn(own.common_name);
  const names = [...own.dnsnames, ...host.filter((name) => !isAddress(name))];
  if (called?.kind === "dns") names.push(called.text);
  const ips = new Set(own.ips);
  if (called?.kind === "ip") ips.add(called.text);
  const dnsNames = [...new Set(names.map((name) => name.toLowerCase()))];
  return {
    ...{ spki, commonName: own.common_name, dnsNames, ips: [...ips], profile: "server" },
    validitySeconds: own.validity_seconds === 0 ? undefined : own.validity_seconds,
  };
}

function stillGood(pem: string, config: Config["server"], clock: Clock): boolean {
  const certificate = new X509Certificate(pem);
  const from = certificate.validFromDate.getTime();
  const until = certificate.validToDate.getTime();
  if (fromTheFuture(pem, clock) || until - clock.now() <= (until - from) / 3) return false;
  const wish = wishOf(config, new Uint8Array());
  return (
    wish.dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
    wish.ips.every((ip) => certificate.checkIP(ip) !== undefined)
  );
}

const isAddress = (host: string) => /^[\d.]+$|^\[/.test(host);
