/** A CA in memory, ready to issue: every part real but the store and the key provider. */

import { type KeyObject, sign } from "node:crypto";

import { httpLogClient } from "#adapters/network/ct-log.ts";
import { pathsHere } from "#adapters/paths/thread.ts";
import { element, integer, oid, sequence, setOf } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { type CaId, defaultTenant } from "#core/ids.ts";
import { DrawnSerial } from "#core/policy/drawn-serial.ts";
import type { KeyFacts } from "#core/policy/key-quality.ts";
import type { Profile } from "#core/policy/profile.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { defaultSignature, type KeyType, schemeOf } from "#core/x509/algorithms.ts";
import {
  altSignatureAlgorithm,
  altSignatureValue,
  subjectAltPublicKeyInfo,
} from "#core/x509/alternative.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import { encodeExtensions, type Extension, subjectAltName } from "#core/x509/extensions.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";
import type { Origin } from "#domain/actor.ts";
import { Refusals } from "#domain/access/refusals.ts";
import { Authorities, type CaRequest } from "#domain/hierarchy/create.ts";
import { ExternalAuthorities } from "#domain/hierarchy/external.ts";
import { TakeOver } from "#domain/hierarchy/take-over.ts";
import { Serving } from "#domain/hierarchy/serving.ts";
import { CaSigners } from "#domain/authorities/signers.ts";
import { CaaGate } from "#domain/certificates/caa.ts";
import { Ceremony } from "#domain/certificates/ceremony.ts";
import { ClockWatch } from "#domain/clock-watch.ts";
import { Issuance, type IssueRequest } from "#domain/certificates/issue.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { Random, Resolver } from "#domain/ports.ts";
import { Revoker } from "#domain/revocation/revoke.ts";
import { Signing } from "#domain/signing/signing.ts";
import type { Store } from "#domain/store.ts";
import { type CtLog, LogRegistry } from "#domain/transparency/logs.ts";
import { openTransparency } from "#domain/inclusion/open.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { seededRandom, type TestClock, testClock } from "#test/support/ports.ts";
import { keyPair } from "#test/support/encodings/x509.ts";
import { ownPerson } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import { noGrants } from "#domain/access/grants.ts";
import { type PrincipalNow, stillMay } from "#domain/access/principal-now.ts";

export interface WorldOptions {
  readonly urlBase?: string;
  /** Another one than an empty one. */
  readonly store?: MemoryStore;
  /** Approvals guard profiles that want them. */
  readonly approvable?: boolean;
  /** `crl.shards`. */
  readonly shards?: number;
  readonly profiles?: readonly Profile[];
  readonly random?: Random;
  /** Of classical CA keys; the memory keys hold both kinds. */
  readonly provider?: ProviderName;
  readonly resolver?: Resolver;
  readonly caaIdentifier?: string;
  readonly caaCacheTtlSeconds?: number;
  readonly maxNames?: number;
  /** Digests of weak keys. */
  readonly weakKeys?: ReadonlySet<string>;
  readonly maxCertValidityDays?: number;
  /** Transparency logs; none unless given. */
  readonly logs?: () => readonly CtLog[];
}

/** All parts of issuance, wired as the application wires them. */
export function issuanceWorld(options: WorldOptions = {}) {
  const store = options.store ?? createMemoryStore();
  const keys = openMemoryKeys();
  const clock = testClock();
  const random = options.random ?? seededRandom();
  const config = sectionsOf(options);
  let profileSet = new ProfileSet(options.profiles);
  const profiles = () => profileSet;
  const signers = new CaSigners({ cas: store.read.cas, keys, config });
  const resolver = options.resolver ?? silentResolver;
  const caa = new CaaGate({ resolver, clock, caa: config.caa });
  const revoker = revokerOf(store, clock, random);
  const transparency = openTransparency({
    store,
    clock,
    random,
    revoker: () => revoker,
    client: impatientClient,
    registry: () => new LogRegistry(options.logs?.() ?? []),
    settings: { interval_minutes: 60, max_certs_per_run: 500, timeout_seconds: 5 },
  });
  const clockWatch = watchOf(store, clock);
  const refusals = new Refusals({ store, clock });
  const used = { store, keys, clock, random };
  const signing = new Signing(used);
  const ceremony = new Ceremony({
    ...used,
    signing,
    refusals,
    caa,
    scts: transparency.scts,
    refuseWhileBehind: () => clockWatch.refuseWhileBehind(),
    weakKeys: () => options.weakKeys ?? new Set(),
  });
  const activation: Activation = { run: async () => {} };
  const activated = (ca: CaId) => activation.run(ca);
  const shared = { ...used, signing, signers, ceremony, profiles, config, activated };
  const authorities = new Authorities(shared);
  const external = new ExternalAuthorities(shared);
  const takeOver = new TakeOver(shared);
  const issuance = new Issuance({ ...shared, approvable: options.approvable ?? false });
  const serving = new Serving({ ...shared, authorities });
  /** As a reload does. */
  const setProfiles = (configured: readonly Profile[]) => {
    profileSet = new ProfileSet(configured);
  };
  const found = { authorities, external, takeOver, issuance, serving };
  return {
    ...shared,
    ...found,
    refusals,
    activation,
    paths: pathsHere,
    clockWatch,
    setProfiles,
    transparency,
    ...changing(store),
  };
}

const sectionsOf = ({ maxNames = 100, maxCertValidityDays = 0, ...options }: WorldOptions) => ({
  issuance: { backdate_seconds: 300, ski_method: "rfc7093" as const, max_names: maxNames },
  policy: { max_cert_validity_days: maxCertValidityDays },
  crl: { base_url: options.urlBase, shards: options.shards ?? 0 },
  caa: { identifier: options.caaIdentifier, cache_ttl_seconds: options.caaCacheTtlSeconds ?? 300 },
  key_provider: { roles: { ca: options.provider ?? "software" } },
});

/** Everybody stays who they were, unless a test says what becomes of them. */
function changing(store: Store) {
  let known: (then: Principal) => Principal | undefined = (then) => then;
  const now: PrincipalNow = async (then) => known(then);
  const becoming = (change: typeof known) => {
    known = change;
  };
  return { now, becoming, stillMay: stillMay({ store, grants: noGrants, now }) };
}

/** What follows when a CA has become active; nothing, until a test wires it. */
interface Activation {
  run: (ca: CaId) => Promise<void>;
}

const revokerOf = (store: Store, clock: TestClock, random: Random) =>
  new Revoker({ store, clock, random, holdPermitted: () => true, changed: () => {} });

const watchOf = (store: Store, clock: TestClock) =>
  new ClockWatch({
    store,
    clock,
    stopwatch: clock.stopwatch,
    onPause: () => {},
    onSkew: () => {},
  });

/** A network without name servers. */
const silentResolver: Resolver = {
  lookup: async () => ({ answered: false, failure: "unreachable" }),
};
/** Talks to logs as the application does, but does not wait between attempts. */
const impatientClient = { ...httpLogClient(), pause: async () => {} };

export type World = ReturnType<typeof issuanceWorld>;

/** The root account, calling from one address. */
export const rootOrigin: Origin = {
  principal: {
    subject: "root",
    person: ownPerson("root"),
    name: "root",
    isRoot: true,
    roles: ["admin"],
    tenantRoles: {},
    groups: [],
    mechanism: "basic",
  },
  ip: "192.0.2.7",
  requestId: "request-1",
};

/** A request for a CA that mentions only what matters. */
export function caRequest(request: Partial<CaRequest> = {}): CaRequest {
  const label = request.label ?? "root";
  return {
    label,
    subject: [{ type: "CN", value: `Test ${label}` }],
    keyType: "ecdsa-p256",
    validityDays: undefined,
    maxPathLength: undefined,
    nameConstraints: undefined,
    policies: undefined,
    ...request,
  };
}

/** A root in the world. */
export const initRoot = (world: World, request: Partial<CaRequest> = {}) =>
  world.authorities.initRoot(rootOrigin, defaultTenant, caRequest(request));

/** A request for a leaf that mentions only what matters. */
export const leafRequest = (request: Partial<IssueRequest> = {}): IssueRequest => ({
  csr: request.csr ?? csr(),
  profile: "server",
  validityDays: undefined,
  mustStaple: undefined,
  caller: "interactive",
  ...request,
});

export interface CsrOptions {
  readonly subject?: readonly NameAttribute[];
  readonly dns?: readonly string[];
  readonly sans?: readonly GeneralName[];
  readonly extensions?: readonly Extension[];
  readonly keyType?: KeyType;
  readonly key?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  /** Signs with another key than the one inside. */
  readonly stolen?: boolean;
  /** A second key of this type, proven by its three values in either form (PQ-7). */
  readonly alternative?: AlternativeOptions;
}

interface AlternativeOptions {
  readonly keyType?: KeyType;
  readonly key?: ReturnType<typeof newKey>;
  readonly form?: "extensions" | "attributes";
  /** Leaves one of the values out, by OID. */
  readonly without?: string;
  /** Signs with another key than the one it names. */
  readonly stolen?: boolean;
}

/** PEM of a certification request with a fresh key. */
export function csr(options: CsrOptions = {}): string {
  const keyType = options.keyType ?? "ecdsa-p256";
  const key = options.key ?? newKey(keyType);
  const names = options.sans ?? (options.dns ?? ["a.example"]).map(dnsName);
  // A host only where it is one of the names, as the lint wants it.
  const common = names.some(({ value }) => value === "a.example") ? "a.example" : "A leaf";
  const extensions = [
    ...(names.length > 0 ? [subjectAltName(names, false)] : []),
    ...(options.extensions ?? []),
  ];
  const withValues = (more: readonly Extension[]) => {
    const inside = options.alternative?.form === "attributes" ? [] : more;
    const listed = [...extensions, ...inside];
    const requested = sequence(oid(oids.extensionRequest), setOf([encodeExtensions(listed)]));
    const beside = inside.length > 0 ? [] : more;
    return sequence(
      integer(0),
      encodeName(options.subject ?? [{ type: "CN", value: common }]).der,
      spkiOf(key.publicKey),
      element(
        0xa0,
        ...(listed.length > 0 ? [requested] : []),
        ...beside.map((one) => sequence(oid(one.oid), setOf([one.value]))),
      ),
    );
  };
  const second = options.alternative;
  const request =
    second === undefined ? withValues([]) : withValues(alternativeValues(second, withValues));
  const algorithm = defaultSignature(keyType);
  const signer = options.stolen ? newKey(keyType) : key;
  const signature = sign(schemeOf(algorithm).hash ?? null, request, signer.privateKey);
  return encodePem("CERTIFICATE REQUEST", assembleSigned(request, algorithm, signature));
}

/** A serial of at most 16 octets in hex, as if it had just been drawn. */
export function drawnSerial(hex: string): DrawnSerial {
  const drawn = DrawnSerial.from(Uint8Array.fromHex(hex.padStart(32, "0")));
  if (drawn === undefined) throw new Error("zero is no serial");
  return drawn;
}

/** A key nobody has anything against. */
export const soundKey: KeyFacts = {
  prime: false,
  weak: false,
  blocked: false,
  own: false,
  account: false,
  duplicate: false,
};

/** The three values; the second signature covers the request with the first two (PQ-7). */
function alternativeValues(
  { keyType = "ml-dsa-65", key = newKey(keyType), without, stolen }: AlternativeOptions,
  withValues: (values: readonly Extension[]) => Uint8Array,
): readonly Extension[] {
  const values = [
    subjectAltPublicKeyInfo(spkiOf(key.publicKey)),
    altSignatureAlgorithm(defaultSignature(keyType)),
  ].filter(({ oid: value }) => value !== without);
  const signer = stolen ? newKey(keyType) : key;
  const signature = new Uint8Array(sign(null, withValues(values), signer.privateKey));
  return without === oids.altSignatureValue ? values : [...values, altSignatureValue(signature)];
}

export const dnsName = (value: string): GeneralName => ({ kind: "dns", value });

/** A key pair of a type of the table. */
export const newKey = keyPair;

export const spkiOf = (key: KeyObject): Uint8Array =>
  new Uint8Array(key.export({ type: "spki", format: "der" }));
