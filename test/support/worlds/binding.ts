/** Directories of two tenants with their credentials, over a store in memory and real sealing. */

import { createHmac } from "node:crypto";

import { canonicalJwk } from "#core/acme/account-keys.ts";
import { caId, defaultTenant, tenantId } from "#core/ids.ts";
import type { Profile } from "#core/policy/profile.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { openBindings } from "#domain/acme/bindings.ts";
import type { CredentialRequest } from "#domain/acme/credentials.ts";
import { Directories, type DirectorySections } from "#domain/acme/directories.ts";
import type { AccountRecord } from "#domain/acme/store.ts";
import { Envelopes } from "#domain/envelopes/envelopes.ts";
import { Keks } from "#domain/envelopes/keks.ts";
import { KekRotation } from "#domain/envelopes/rotation.ts";
import { openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { type TestClock, testClock } from "#test/support/ports.ts";
import { ca, noon, tenant } from "#test/support/stores/records.ts";

/** A directory of the tenant `lab`. */
export const labSection = {
  path: "/acme-lab",
  ca_id: undefined,
  ca_label: "lab-issuing",
  profile: "client",
  tenant: "lab",
  require_eab: true,
};

/** Members of `acme` that a test does not name. */
export const acmeSection: DirectorySections["acme"] = {
  enabled: true,
  base_url: "https://pki.test",
  directory_path: "/acme",
  ca_id: undefined,
  ca_label: "issuing",
  profile: "server",
  profiles: {},
  directories: { lab: labSection },
  require_eab: false,
};

export interface BindingOptions {
  readonly acme?: Partial<DirectorySections["acme"]>;
  readonly profiles?: readonly Profile[];
  /** Keys of the configuration, by kid. */
  readonly configured?: Readonly<Record<string, Uint8Array>>;
}

export type BindingWorld = Awaited<ReturnType<typeof bindingWorld>>;

/** The CA `issuing` of the default tenant, and `lab-issuing` of the tenant `lab`. */
export async function bindingWorld(options: BindingOptions = {}) {
  const [store, clock] = [createMemoryStore(), testClock()];
  const current = { acme: { ...acmeSection, ...options.acme } };
  const directories = new Directories({ store, config: () => current });
  const { configured = {} } = options;
  const sealing = sealingOver(store, clock);
  const { credentials, bindings } = openBindings({
    ...sealing,
    store,
    clock,
    random,
    directories,
    profiles: () => new ProfileSet(options.profiles),
    configured: {
      since: noon,
      kids: () => Object.keys(configured),
      key: async (kid) => configured[kid] ?? new Uint8Array(),
    },
  });
  await store.atomically(async (tx) => {
    await tx.tenants.ensure(tenant("default"));
    await tx.tenants.ensure(tenant("lab"));
    await tx.cas.insert(ca({ id: caId("i1"), label: "issuing", tenant: defaultTenant }));
    await tx.cas.insert(ca({ id: caId("l1"), label: "lab-issuing", tenant: tenantId("lab") }));
  });
  const known = { store, clock, current, directories, credentials, bindings, ...sealing };
  return { ...known, ...asking(directories), events: () => store.listEvents() };
}

/** Envelopes under a KEK of their own, and what was opened of them, succeeded or not. */
function sealingOver(store: MemoryStore, clock: TestClock) {
  const keys = openMemoryKeys();
  const keks = new Keks({ store, keys, clock, provider: "software", family: "kek" });
  const opened: boolean[] = [];
  const onOperation = (operation: string, succeeded: boolean) => {
    if (operation === "decrypt") opened.push(succeeded);
  };
  const envelopes = new Envelopes({ keks, keys, random, onOperation });
  const rotation = new KekRotation({ store, random, keks, keys, envelopes, pause: Bun.sleep });
  return { envelopes, rotation, opened };
}

function asking(directories: Directories) {
  const directory = (name = "default") => {
    const found = directories.named(name);
    if (found === undefined) throw new Error(`there is no directory ${name}`);
    return found;
  };
  /** A request for a credential that mentions only what matters. */
  const request = async (
    facts: Partial<CredentialRequest> = {},
    name = "default",
  ): Promise<CredentialRequest> => ({
    directory: directory(name),
    ca: await directories.issuer(directory(name)),
    name: "web",
    description: "",
    profile: undefined,
    dnsSuffixes: ["example.test"],
    ipRanges: [],
    allowWildcards: false,
    anyIdentifier: false,
    maxUses: 1,
    expiresAt: undefined,
    ...facts,
  });
  return { directory, request };
}

/** What a client sends as `externalAccountBinding` for the key, made by hand. */
export function bindingOf(
  kid: string,
  hmacKey: string,
  { jwk = accountJwk, url = newAccountUrl, algorithm = "HS256", header = {} }: BindingParts = {},
) {
  const protectedText = encoded({ alg: algorithm, kid, url, ...header });
  const payload = encoded(jwk);
  const mac = createHmac(`sha${algorithm.slice(2)}`, Buffer.from(hmacKey, "base64url"))
    .update(`${protectedText}.${payload}`)
    .digest("base64url");
  return { protected: protectedText, payload, signature: mac };
}

interface BindingParts {
  readonly jwk?: object;
  readonly url?: string;
  readonly algorithm?: "HS256" | "HS384" | "HS512";
  /** Further members of the protected header. */
  readonly header?: object;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A public key as a client writes it, and as accounts keep it. */
export const accountJwk = {
  kty: "OKP",
  crv: "Ed25519",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
};
export const accountKey = canonicalJwk(accountJwk);
export const newAccountUrl = "https://pki.test/acme/new-account";

/** An account with a key of its own. */
export const account = (facts: Partial<AccountRecord> = {}): AccountRecord => ({
  id: crypto.randomUUID(),
  directory: "default",
  tenant: defaultTenant,
  status: "valid",
  thumbprint: crypto.randomUUID(),
  jwk: accountKey,
  spkiSha256: crypto.randomUUID(),
  contacts: [],
  termsAgreedAt: undefined,
  eabId: undefined,
  createdAt: noon,
  idleSince: undefined,
  ...facts,
});

const random = {
  bytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
  uuid: () => crypto.randomUUID(),
};
