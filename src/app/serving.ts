/**
 * The certificate the main listener shows: the operator's files, or one pkid issues and renews for
 * itself.
 */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

import {
  belongTogether,
  hasKeyType,
  newServingKey,
  type ServingFiles,
} from "#adapters/serving-files.ts";
import type { Config } from "#config/schema.ts";
import { hostIn } from "#core/policy/host-names.ts";
import { defaultProfile } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import type { Serving, ServingRequest } from "#domain/hierarchy/serving.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock, Log } from "#domain/ports.ts";
import type { TlsMaterial } from "#http/port.ts";
import { describe } from "./describe.ts";

export interface ServingCertificateDeps {
  readonly serving: Serving;
  readonly files: ServingFiles;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the certificate in order. */
export class ServingCertificates {
  readonly #deps: ServingCertificateDeps;
  /**
   * Until when a CA that refused is not asked again for the same: every refusal of a gate is an
   * event.
   */
  #refused: { readonly request: string; readonly until: Instant } | undefined;
  /** What has been told of the CA, so that every minute tells news only. */
  #told = "";

  constructor(deps: ServingCertificateDeps) {
    this.#deps = deps;
  }

  /**
   * What to serve with. Undefined when the configuration asks for cleartext. An own certificate is
   * made when there is none, when it is due to be replaced, when it is another CA's, or when it
   * lacks a configured name (CFG-11). While the CA that is configured cannot issue it, the one
   * there is goes on until its end, and then one of the internal CA.
   */
  async material(config: Config["server"], cleartext: boolean): Promise<TlsMaterial | undefined> {
    const { serving, files, clock } = this.#deps;
    if (config.tls_cert !== undefined && config.tls_key !== undefined) {
      const material = configured(config.tls_cert, config.tls_key);
      await serving.claim(publicKeyOf(material.certificate));
      return material;
    }
    if (cleartext) return undefined;
    const kept = files.read();
    const good = kept !== undefined && stillGood(kept.certificate, config, clock);
    const { ca_id } = config.tls.self_issue;
    if (ca_id !== undefined) {
      const issued = await this.#fromCa(ca_id, config, good ? kept : undefined);
      if (issued !== undefined) return issued;
      if (kept !== undefined && inTime(kept.certificate, clock)) return kept;
    }
    const profile = ca_id === undefined ? config.tls.self_issue.profile : defaultProfile;
    const internal = await serving.internalCa();
    if (good && serving.vouchesFor(internal, derOf(kept.certificate))) return kept;
    try {
      return await issue(this.#deps, config, internal, profile);
    } catch (error) {
      // Before its own CA began no other can be made, and whoever sets the clock right must be let
      // in.
      if (kept === undefined || !fromTheFuture(kept.certificate, clock)) throw error;
      return kept;
    }
  }

  /** Undefined while this CA is not there or cannot issue it, which is told. */
  async #fromCa(
    reference: string,
    config: Config["server"],
    kept: TlsMaterial | undefined,
  ): Promise<TlsMaterial | undefined> {
    const { serving, clock } = this.#deps;
    const request = JSON.stringify([config.tls.self_issue, config.public_url]);
    let asked = false;
    try {
      const ca = await serving.named(reference, config.tls.self_issue.tenant);
      if (kept !== undefined && serving.vouchesFor(ca, derOf(kept.certificate))) return kept;
      if (this.#refused?.request === request && clock.now() < this.#refused.until) return undefined;
      asked = true;
      const issued = await issue(this.#deps, config, ca, config.tls.self_issue.profile);
      this.#refused = undefined;
      this.#told = "";
      return issued;
    } catch (error) {
      if (asked) this.#refused = { request, until: addSeconds(clock.now(), secondsPerHour) };
      this.#tell(reference, describe(error));
      return undefined;
    }
  }

  #tell(ca: string, error: string): void {
    if (this.#told === error) return;
    this.#told = error;
    this.#deps.log.write("error", "serving_certificate_refused", { ca, error });
  }
}

const derOf = (pem: string): Uint8Array => new Uint8Array(new X509Certificate(pem).raw);

const inTime = (pem: string, clock: Clock): boolean =>
  !fromTheFuture(pem, clock) && new X509Certificate(pem).validToDate.getTime() > clock.now();

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
  ca: CaRecord,
  profile: string,
): Promise<TlsMaterial> {
  const { key, spki } = await newServingKey(config.tls.self_issue.key_type);
  const issued = await serving.certify(ca, { ...requestOf(config, spki), profile });
  // What clients trust goes along: who was told its fingerprint finds it by asking the server
  // (src/cli/commands/trust.ts).
  const material = { key, certificate: issued.chainPem + issued.caPem };
  files.write(material);
  files.writeCa(issued.caPem);
  return material;
}

function requestOf(config: Config["server"], spki: Uint8Array): Omit<ServingRequest, "profile"> {
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
    spki,
    common_name: own.common_name,
    dnsNames,
    ips: [...ips],
    validitySeconds: own.validity_seconds === 0 ? undefined : own.validity_seconds,
  };
}

function stillGood(pem: string, config: Config["server"], clock: Clock): boolean {
  const certificate = new X509Certificate(pem);
  const { key_type, renew_before } = config.tls.self_issue;
  if (fromTheFuture(pem, clock) || !hasKeyType(pem, key_type)) return false;
  const until = certificate.validToDate.getTime();
  const life = until - certificate.validFromDate.getTime();
  // One that would be due from its first moment on would be replaced for ever.
  const before =
    renew_before === undefined ? life / 3 : Math.min(renew_before * 1000, (life * 2) / 3);
  if (until - clock.now() <= before) return false;
  const request = requestOf(config, new Uint8Array());
  return (
    request.dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
    request.ips.every((ip) => certificate.checkIP(ip) !== undefined)
  );
}

const isAddress = (host: string) => /^[\d.]+$|^\[/.test(host);
const secondsPerHour = 3600;
