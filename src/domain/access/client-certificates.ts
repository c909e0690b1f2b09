/**
 * Callers who prove by a client certificate who they are: judged anew at every request of a
 * connection.
 */

import {
  ambiguousFor,
  type Binding,
  bindingFor,
  clientNames,
} from "#core/access/client-bindings.ts";
import { plainPerson } from "#core/access/person.ts";
import type { Evidence, Principal } from "#core/access/principal.ts";
import type { Role } from "#core/access/roles.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { compareOctets } from "#core/asn1/der.ts";
import type { CaId, Serial } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { isForClients, validAt } from "#core/x509/client-path.ts";
import type { Clock, Log } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { printableName } from "./failed-logins.ts";

import { type ClientPaths, type FoundPath, isCurrent } from "./client-paths.ts";
import { laneOf } from "./address-turns.ts";

/**
 * What a client showed in the handshake of one connection, in which it proved to hold the key;
 * nobody has judged it.
 */
export interface ClientCertificate {
  /** DER, the client's own first. */
  readonly chain: readonly Uint8Array[];
}

/** What is believed, and who is who; another object after every reload. */
export interface ClientTrust {
  readonly anchors: readonly ParsedCertificate[];
  readonly bindings: readonly Binding[];
}

/**
 * Who a client certificate stands for; undefined for nobody. Refuses as `ClientPaths.find` does.
 */
export type ClientCheck = (
  certificate: ClientCertificate,
  whence: { readonly ip: string; readonly exempt?: boolean },
) => Promise<Principal | undefined>;

export interface ClientCertificateDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly paths: ClientPaths;
  /** As it is in force now. */
  readonly trust: () => ClientTrust;
  /** Told once for each connection why a certificate that looks bound is not. */
  readonly log: Log;
  /** Told of every request with a certificate that is trusted; metrics are its only use. */
  readonly onLogin: (result: "success" | "denied" | "error") => void;
}

/** The service. */
export class ClientCertificates {
  readonly #deps: ClientCertificateDeps;
  /** What stays the same for a connection while the trust does. */
  readonly #judged = new WeakMap<ClientCertificate, Promise<Judged>>();

  constructor(deps: ClientCertificateDeps) {
    this.#deps = deps;
  }

  /**
   * Who comes with this certificate. Nobody: without a path to what is trusted now, expired, not
   * for clients, revoked or on hold at a CA of this instance anywhere on the path, or not bound.
   */
  readonly principal: ClientCheck = async (certificate, whence) => {
    const { onLogin } = this.#deps;
    const known = await this.#known(certificate, laneOf(whence));
    if (known === undefined) return undefined;
    try {
      const principal = await this.#admitted(known);
      onLogin(principal === undefined ? "denied" : "success");
      return principal;
    } catch (error) {
      onLogin("error");
      throw error;
    }
  };

  /**
   * The same of a certificate that was shown earlier; no request with it, and not counted as one.
   */
  readonly principalAgain = async (
    certificate: ClientCertificate,
  ): Promise<Principal | undefined> => {
    const known = await this.#known(certificate, undefined);
    return known && (await this.#admitted(known));
  };

  async #admitted(known: Known): Promise<Principal | undefined> {
    const { binding, path } = known;
    if (binding === undefined || !validAt(path, this.#deps.clock.now())) return undefined;
    return (await this.#isRevoked(known)) ? undefined : await this.#principalOf(binding, known);
  }

  /** What is known of a certificate under the trust of now; undefined for what counts as absent. */
  async #known(
    certificate: ClientCertificate,
    lane: string | undefined,
  ): Promise<Known | undefined> {
    const trust = this.#deps.trust();
    const pending = this.#judged.get(certificate);
    const before = pending && (await pending);
    const now = this.#deps.clock.now();
    if (before?.trust === trust && isCurrent(before.found, now)) return before.known;
    // Another request of the connection may have begun meanwhile: those that come together are
    // judged together.
    if (this.#judged.get(certificate) !== pending) return await this.#known(certificate, lane);
    const judging = this.#judge(certificate, trust, { now, lane });
    this.#judged.set(certificate, judging);
    // What was refused is judged anew.
    judging.catch(() => this.#judged.delete(certificate));
    const { known } = await judging;
    if (known?.ambiguous !== undefined && before?.trust !== trust) this.#tell(known.ambiguous);
    return known;
  }

  /** Nobody without a path to what is trusted, and for what cannot be read. */
  async #judge(
    { chain }: ClientCertificate,
    trust: ClientTrust,
    asked: { readonly now: Instant; readonly lane: string | undefined },
  ): Promise<Judged> {
    try {
      const shown = chain.slice(0, chainMax).map(parseCertificate);
      const found = await this.#deps.paths.find(shown, trust.anchors, asked);
      return { trust, found, known: knownBy(shown, found, trust) };
    } catch (error) {
      if (error instanceof DerError) return { trust, found: always, known: undefined };
      throw error;
    }
  }

  #tell({ binding, commonNames }: Ambiguous): void {
    this.#deps.log.write("warn", "client_certificate_not_bound", {
      why: "subject_cn is met by no certificate with several common names",
      subject: binding.subject,
      common_names: commonNames.slice(0, namesMax).map(printableName),
    });
  }

  async #isRevoked(known: Known): Promise<boolean> {
    const { read } = this.#deps.store;
    known.own ??= await this.#issuedHere(known);
    for (const { ca, serial } of known.own) {
      const { status } = await read.revocations.certStatus(ca, serial);
      // A certificate on hold stands among the revoked ones.
      if (status === "revoked") return true;
    }
    return false;
  }

  /**
   * Where this instance may have revoked any certificate that was shown or is on the path. By the
   * issuer's name and key, without the signature: a CA key is here before it signs, so this is
   * asked once, and to ask one CA too many is safe.
   */
  async #issuedHere({ path, shown }: Known): Promise<readonly Issued[]> {
    const { cas } = this.#deps.store.read;
    const all = [...shown, ...path];
    const issued = new Map<string, Issued>();
    const add = (ca: CaId, serial: Serial) => issued.set(`${ca} ${serial}`, { ca, serial });
    const keys = new Map(all.map((one) => [one.spki.toHex(), one]));
    for (const key of keys.values()) {
      for (const ca of await cas.withKey(key.spki)) {
        const below = all.filter((one) => isNamedIssuer(one, all, key.spki));
        for (const { serial } of below) add(ca.id, serial);
        // Certificates of this CA itself, whose issuer need not have been shown.
        const { parent, serial } = ca;
        const own = parent && serial ? [{ issuer: parent, serial }] : [];
        for (const one of [...own, ...(await cas.crossSignsOf(ca.id))]) {
          if (all.some((shown) => shown.serial === one.serial)) add(one.issuer, one.serial);
        }
      }
    }
    return [...issued.values()];
  }

  async #principalOf(
    { name, subject, roles, tenantRoles }: Binding,
    known: Known,
  ): Promise<Principal> {
    const { tenants } = this.#deps.store.read;
    const byTenant = new Map<string, readonly Role[]>();
    for (const [reference, more] of Object.entries(tenantRoles)) {
      // A tenant that does not exist gives nothing.
      const tenant = (await tenants.named(reference))?.id;
      if (tenant !== undefined) byTenant.set(tenant, [...(byTenant.get(tenant) ?? []), ...more]);
    }
    return {
      subject,
      person: plainPerson("mtls", subject),
      isRoot: false,
      roles,
      ...(name === undefined ? {} : { name }),
      tenantRoles: Object.fromEntries(byTenant),
      groups: [],
      mechanism: "mtls",
      evidence: known.evidence,
    };
  }
}

interface Judged {
  readonly trust: ClientTrust;
  /** A path may have ended, or not begun, while another one is valid. */
  readonly found: FoundPath;
  readonly known: Known | undefined;
}

/** What cannot be read never will be. */
const always: FoundPath = {
  path: undefined,
  from: instant(-Infinity),
  until: instant(Infinity),
};

interface Known {
  /** From the client's certificate to the anchor. */
  readonly path: readonly ParsedCertificate[];
  readonly shown: readonly ParsedCertificate[];
  readonly binding: Binding | undefined;
  readonly evidence: Evidence;
  readonly ambiguous: Ambiguous | undefined;
  /** What to ask of the revocations of this instance, once it is known. */
  own: readonly Issued[] | undefined;
}

/** A binding that would be met if the certificate had one common name only. */
interface Ambiguous {
  readonly binding: Binding;
  readonly commonNames: readonly string[];
}

interface Issued {
  readonly ca: CaId;
  readonly serial: Serial;
}

/** Throws DerError. */
function knownBy(
  shown: readonly ParsedCertificate[],
  { path }: FoundPath,
  { bindings }: ClientTrust,
): Known | undefined {
  const [leaf] = shown;
  if (leaf === undefined || path === undefined) return undefined;
  const names = isForClients(leaf) ? clientNames(leaf) : undefined;
  const binding = names && bindingFor(names, bindings);
  const evidence: Evidence = {
    kind: "certificate",
    chain: shown.map(({ der }) => der.toBase64()),
  };
  const named = names && ambiguousFor(names, bindings);
  const ambiguous = named && { binding: named, commonNames: names.commonNames };
  return { path, shown, binding, evidence, ambiguous, own: undefined };
}

/** True when a certificate with this key has the name of the issuer. */
const isNamedIssuer = (
  { issuer }: ParsedCertificate,
  among: readonly ParsedCertificate[],
  spki: Uint8Array,
): boolean =>
  among.some(
    (one) =>
      compareOctets(one.spki, spki) === 0 && compareOctets(one.subject.der, issuer.der) === 0,
  );

/** As many common names as are told of. */
const namesMax = 8;
/** More certificates than any honest path has. */
const chainMax = 16;
