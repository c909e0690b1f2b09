/** Certificate authorities in JSON: list, show, keys and chains, and the making of new ones. */

import { encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { many, oneOf, optional, otherwise, shape, text, type ValueOf, words } from "#core/shape.ts";
import { sshPublicKey } from "#core/ssh/public-key.ts";
import { timestamp } from "#core/time.ts";
import { type Algorithm, algorithms, isPostQuantum } from "#core/x509/algorithms.ts";
import { fingerprint, parsePublicKey } from "#core/x509/public-keys.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { Document, made } from "#domain/access/outcome.ts";
import { anyScope, theCa, theTenant } from "#domain/access/targets.ts";
import { certificatePem, chainBundle } from "#domain/authorities/bundle.ts";
import type { Authorities } from "#domain/hierarchy/create.ts";
import { type CaRecord, caStatuses } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import { described, type PublicHandler } from "#http/public.ts";
import { cacheableFor } from "#http/validators.ts";
import type { OperationName } from "#operations";
import { caFields, intermediateFields, intermediateRequestOf, rootRequestOf } from "./ca-fields.ts";
import { parkedCa } from "./parking.ts";
import { listOf, pageFields, pageOf, readableCa, readableTenant } from "./pages.ts";
import {
  count,
  fingerprintText,
  keyTypeText,
  pemText,
  present,
  providerText,
  serialText,
  time,
  timeText,
} from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly authorities: Authorities;
  /**
   * True when certificates are not told where their CRL and their OCSP answers are (no
   * `crl.base_url`).
   */
  readonly namesNoAddress?: boolean;
}

/** What making a CA below another one refuses. */
const makingBelow = [
  "key_type_unsupported",
  "gate_refused",
  "validity_exceeds_limit",
  "ca_constraint",
  "already_exists",
  "ca_not_active",
  "not_supported",
] as const;

/** Handlers for `ca.*`; the two public ones answer octets. */
export function authorityHandlers(deps: Deps) {
  const { store, authorities } = deps;
  return {
    "ca.list": caList(store),
    "ca.show": operation({
      summary: "One CA.",
      target: theCa,
      output: caShape,
      run: async (call) => caJson(call.ca),
    }),
    "ca.public_key": operation({
      summary: "The public key of a CA, in PEM or OpenSSH form.",
      target: theCa,
      input: { format: otherwise(oneOf(["pem", "ssh"]), "pem") },
      output: { media: [pemType, "text/plain"] },
      run: async (call) => publicKey(call.ca, call.input.format),
    }),
    "ca.certificate": described(caCertificate(store), {
      summary: "The certificate of a CA.",
      query: { format: otherwise(oneOf(["der", "pem"]), "der") },
      gives: ["application/pkix-cert", pemType],
    }),
    "ca.chain": described(caChain(store), {
      summary: "The certificate of a CA and those above it, without the root.",
      gives: [pemType],
    }),
    "ca.init_root": guarded({
      summary: "Make a root CA: a key, and a certificate signed with it.",
      target: theTenant,
      input: caFields,
      output: madeCaShape,
      refuses: ["key_type_unsupported", "gate_refused", "already_exists", "not_supported"],
      parks: async ({ input }, said) =>
        parkedCa(store, undefined, rootRequestOf(input), said, () => {}),
      run: async (call) => {
        const ca = await authorities.initRoot(call.origin, call.tenant, rootRequestOf(call.input));
        return madeCa(deps, ca);
      },
    }),
    "ca.issue_intermediate": guarded({
      summary: "Make a CA under this one.",
      target: theCa,
      input: intermediateFields,
      output: madeCaShape,
      refuses: makingBelow,
      parks: async ({ ca, origin, input }, said) => {
        const request = intermediateRequestOf(input);
        const admit = () => authorities.admitIntermediate(origin, ca, request);
        return parkedCa(store, ca, request, said, admit);
      },
      run: async (call) => {
        const parent = call.ca;
        const request = intermediateRequestOf(call.input);
        const ca = await authorities.issueIntermediate(call.origin, parent, request);
        return madeCa(deps, ca);
      },
    }),
  } satisfies Partial<Record<OperationName, Definition | PublicHandler>>;
}

function caList(store: Store) {
  return operation({
    summary: "CAs the caller may read, newest first.",
    target: anyScope,
    input: {
      tenant: optional(text({ max: 64 })),
      status: optional(oneOf(caStatuses)),
      parent_id: optional(text({ max: 64 })),
      q: optional(text({ min: 1, max: 200 })),
      ...pageFields,
    },
    output: listOf(caShape),
    run: async (call) => {
      const { status, parent_id, q } = call.input;
      const filter = {
        reach: call.reach,
        status,
        text: q,
        tenant: await readableTenant(store, call.input.tenant, call.reach),
        parent:
          parent_id === undefined
            ? undefined
            : await readableCa(store, parent_id, call.reach, "parent_id"),
      };
      return await pageOf("ca.list", call, filter, caJson, (limit, after) =>
        store.read.cas.page(filter, limit, after),
      );
    },
  });
}

const caMembers = {
  id: words(),
  tenant_id: words(),
  parent_id: optional(words()),
  label: words(),
  provider: providerText,
  pkcs11_uri: optional(words()),
  key_type: keyTypeText,
  algorithm: oneOf(algorithms),
  alt_key_type: optional(keyTypeText),
  public_key: pemText,
  public_key_fingerprint: fingerprintText,
  certificate: optional(pemText),
  subject: words(),
  serial: optional(serialText),
  not_before: optional(time),
  not_after: optional(time),
  max_path_len: optional(count),
  status: oneOf(caStatuses),
  csr: optional(pemText),
  external_chain: optional(pemText),
  successor_id: optional(words()),
  predecessor_id: optional(words()),
  retire_after: optional(time),
  created_at: time,
};

/** A CA as answers show it. */
export const caShape = shape(caMembers);

/** A new one, and what its maker should know before anything is issued. */
const madeCaShape = shape({ ...caMembers, warnings: optional(many(words())) });

/** A CA as answers show it; members without a value are left out. */
export function caJson(ca: CaRecord) {
  const { key, certificate } = ca;
  return present<ValueOf<typeof caShape>>({
    id: ca.id,
    tenant_id: ca.tenant,
    parent_id: ca.parent,
    label: ca.label,
    provider: key.provider,
    pkcs11_uri: pkcs11Uri(ca),
    key_type: ca.keyType,
    algorithm: algorithmOf(ca),
    alt_key_type: ca.alternative?.keyType,
    public_key: publicKeyPem(ca),
    public_key_fingerprint: fingerprint(ca.spki),
    certificate: certificate && certificatePem(certificate),
    subject: ca.subject,
    serial: ca.serial,
    not_before: timeText(ca.notBefore),
    not_after: timeText(ca.notAfter),
    max_path_len: ca.maxPathLength,
    status: ca.status,
    csr: ca.csr && encodePem("CERTIFICATE REQUEST", ca.csr),
    external_chain: ca.externalChain,
    successor_id: ca.successor,
    predecessor_id: ca.predecessor,
    retire_after: timeText(ca.retireAfter),
    created_at: timestamp(ca.createdAt),
  });
}

function madeCa({ namesNoAddress = false }: Pick<Deps, "namesNoAddress">, ca: CaRecord) {
  const told = namesNoAddress ? { warnings: [noAddressWarning] } : {};
  return made({ ...caJson(ca), ...told }, `/api/ca/${ca.id}`);
}

function algorithmOf({ keyType, alternative }: CaRecord): Algorithm {
  if (alternative !== undefined) return "hybrid";
  return isPostQuantum(keyType) ? "pqc" : "classical";
}

function publicKey(ca: CaRecord, format: "pem" | "ssh"): Document {
  if (format === "pem") {
    return new Document({
      content: publicKeyPem(ca),
      type: pemType,
      fileName: `${ca.label}.pub.pem`,
    });
  }
  const line = sshPublicKey(parsePublicKey(ca.spki), ca.label);
  if (line === undefined) {
    throw refuse("bad_query", { parameter: "format", reason: "has no form for this key type" });
  }
  return new Document({ content: line, type: "text/plain; charset=utf-8" });
}

/** The address that certificates name as caIssuers: one DER certificate. */
function caCertificate(store: Store): PublicHandler {
  return async ({ request, path, query }) => {
    const format = new URLSearchParams(query).get("format") ?? "der";
    if (format !== "der" && format !== "pem") {
      throw refuse("bad_query", { parameter: "format", reason: "must be der or pem" });
    }
    const { certificate } = await certified(store, path.id);
    if (format === "pem") return pem(request, certificatePem(certificate), "ca.pem");
    return cacheableFor(request, maxAgeSeconds, {
      body: certificate,
      contentType: "application/pkix-cert",
      sha256: sha256Hex(certificate),
    });
  };
}

function caChain(store: Store): PublicHandler {
  return async ({ request, path }) => {
    const { ca } = await certified(store, path.id);
    return pem(request, await chainBundle(store.read.cas, ca), "chain.pem");
  };
}

/**
 * The internal serving CA answers too: it is what clients of a fresh instance are told to trust.
 */
async function certified(store: Store, id: string | undefined) {
  const ca = await store.read.cas.byId(caId(id ?? ""));
  if (ca?.certificate === undefined) throw refuse("not_found");
  return { ca, certificate: ca.certificate };
}

function pem(request: Request, body: string, fileName: string): Response {
  return cacheableFor(request, maxAgeSeconds, {
    body,
    contentType: pemType,
    sha256: sha256Hex(Buffer.from(body)),
    disposition: `attachment; filename="${fileName}"`,
  });
}

/** RFC 7512; only for keys on a token. */
function pkcs11Uri({ key }: CaRecord): string | undefined {
  if (key.provider !== "pkcs11") return undefined;
  const id = key.id.replace(/../g, "%$&");
  return `pkcs11:object=${encodeURIComponent(key.label)};id=${id};type=private`;
}

const publicKeyPem = (ca: CaRecord) => encodePem("PUBLIC KEY", ca.spki);

const pemType = "application/x-pem-file";
const maxAgeSeconds = 300;

const noAddressWarning =
  "Certificates of this instance carry no CRL and no OCSP address, so nobody learns of revocations by them. Set server.public_url or crl.base_url and start again before issuing.";
