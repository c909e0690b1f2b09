/** Certificate authorities in JSON: list, show, keys and chains, and the making of new ones. */

import { encodePem } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import { caId } from "#core/ids.ts";
import { assert, refuse } from "#core/problems.ts";
import { oneOf, optional, otherwise, text } from "#core/shape.ts";
import { sshPublicKey } from "#core/ssh/public-key.ts";
import { timestamp } from "#core/time.ts";
import { type Algorithm, isPostQuantum } from "#core/x509/algorithms.ts";
import { fingerprint, parsePublicKey } from "#core/x509/public-keys.ts";
import { created, type Handler, handler, ok } from "#domain/access/call.ts";
import { certificatePem, chainBundle } from "#domain/authorities/bundle.ts";
import type { Authorities } from "#domain/hierarchy/create.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import { described, type PublicHandler } from "#http/public.ts";
import { cacheableFor } from "#http/validators.ts";
import type { OperationName } from "#operations";
import { caFields, intermediateFields, intermediateRequestOf, rootRequestOf } from "./ca-fields.ts";
import { pageFields, pageOf, readableCa, readableTenant } from "./pages.ts";

interface Deps {
  readonly store: Store;
  readonly authorities: Authorities;
  /**
   * True when certificates are not told where their CRL and their OCSP answers are (no
   * `crl.base_url`).
   */
  readonly namesNoAddress?: boolean;
}

/** Handlers for `ca.*`; the two public ones answer octets. */
export function authorityHandlers(deps: Deps) {
  const { store, authorities } = deps;
  return {
    "ca.list": caList(store),
    "ca.show": handler({
      summary: "One CA.",
      path: { id: text() },
      run: async (call) => ok(caJson(presentCa(call.ca))),
    }),
    "ca.public_key": handler({
      summary: "The public key of a CA, in PEM or OpenSSH form.",
      path: { id: text() },
      query: { format: otherwise(oneOf(["pem", "ssh"]), "pem") },
      gives: [pemType, "text/plain"],
      run: async (call) => publicKey(presentCa(call.ca), call.query.format),
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
    "ca.init_root": handler({
      summary: "Make a root CA: a key, and a certificate signed with it.",
      body: { ...caFields, tenant_id: optional(text({ max: 64 })) },
      run: async (call) => {
        assert(call.tenant !== undefined, "a root belongs to a tenant");
        const ca = await authorities.initRoot(call.origin, call.tenant, rootRequestOf(call.body));
        return made(deps, ca);
      },
    }),
    "ca.issue_intermediate": handler({
      summary: "Make a CA under this one.",
      path: { id: text() },
      body: intermediateFields,
      admit: ({ ca, origin, body }) =>
        authorities.admitIntermediate(origin, presentCa(ca), intermediateRequestOf(body)),
      run: async (call) => {
        const parent = presentCa(call.ca);
        const request = intermediateRequestOf(call.body);
        const ca = await authorities.issueIntermediate(call.origin, parent, request);
        return made(deps, ca);
      },
    }),
  } satisfies Partial<Record<OperationName, Handler | PublicHandler>>;
}

/** The CA, and what its maker should know before anything is issued. */
function made({ namesNoAddress = false }: Pick<Deps, "namesNoAddress">, ca: CaRecord) {
  const told = namesNoAddress ? { warnings: [noAddressWarning] } : {};
  return created({ ...caJson(ca), ...told }, `/api/ca/${ca.id}`);
}

function caList(store: Store): Handler {
  return handler({
    summary: "CAs the caller may read, newest first.",
    query: {
      tenant: optional(text({ max: 64 })),
      status: optional(oneOf(["pending", "active", "superseded", "retired"])),
      parent_id: optional(text({ max: 64 })),
      q: optional(text({ min: 1, max: 200 })),
      ...pageFields,
    },
    run: async (call) => {
      const { status, parent_id, q } = call.query;
      const filter = {
        reach: call.reach,
        status,
        text: q,
        tenant: await readableTenant(store, call.query.tenant, call.reach),
        parent:
          parent_id === undefined
            ? undefined
            : await readableCa(store, parent_id, call.reach, "parent_id"),
      };
      return ok(
        await pageOf("ca.list", call, filter, caJson, (limit, after) =>
          store.read.cas.page(filter, limit, after),
        ),
      );
    },
  });
}

/** A CA as answers show it; members without a value are left out. */
export function caJson(ca: CaRecord) {
  const { key, certificate, notBefore, notAfter } = ca;
  const members = {
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
    not_before: notBefore === undefined ? undefined : timestamp(notBefore),
    not_after: notAfter === undefined ? undefined : timestamp(notAfter),
    max_path_len: ca.maxPathLength,
    status: ca.status,
    csr: ca.csr && encodePem("CERTIFICATE REQUEST", ca.csr),
    external_chain: ca.externalChain,
    successor_id: ca.successor,
    predecessor_id: ca.predecessor,
    retire_after: ca.retireAfter === undefined ? undefined : timestamp(ca.retireAfter),
    created_at: timestamp(ca.createdAt),
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function algorithmOf({ keyType, alternative }: CaRecord): Algorithm {
  if (alternative !== undefined) return "hybrid";
  return isPostQuantum(keyType) ? "pqc" : "classical";
}

function publicKey(ca: CaRecord, format: "pem" | "ssh") {
  if (format === "pem") {
    return {
      status: 200 as const,
      raw: publicKeyPem(ca),
      headers: pemHeaders(`${ca.label}.pub.pem`),
    };
  }
  const line = sshPublicKey(parsePublicKey(ca.spki), ca.label);
  if (line === undefined) {
    throw refuse("bad_query", { parameter: "format", reason: "has no form for this key type" });
  }
  return {
    status: 200 as const,
    raw: line,
    headers: { "content-type": "text/plain; charset=utf-8" },
  };
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

const pemHeaders = (fileName: string) => ({
  "content-type": pemType,
  "content-disposition": `attachment; filename="${fileName}"`,
});

/** RFC 7512; only for keys on a token. */
function pkcs11Uri({ key }: CaRecord): string | undefined {
  if (key.provider !== "pkcs11") return undefined;
  const id = key.id.replace(/../g, "%$&");
  return `pkcs11:object=${encodeURIComponent(key.label)};id=${id};type=private`;
}

const publicKeyPem = (ca: CaRecord) => encodePem("PUBLIC KEY", ca.spki);

function presentCa(ca: CaRecord | undefined): CaRecord {
  assert(ca !== undefined, "an operation on a CA has one");
  return ca;
}

const pemType = "application/x-pem-file";
const maxAgeSeconds = 300;

const noAddressWarning =
  "Certificates of this instance carry no CRL and no OCSP address, so nobody learns of revocations by them. Set server.public_url or crl.base_url and start again before issuing.";
