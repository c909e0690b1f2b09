/**
 * GET /api/ca/{id}/crl and its deltas and partitions: published lists as DER or PEM, the same
 * octets on every replica.
 */

import { createHash } from "#core/crypto.ts";
import { pemFoot, pemHead, pemLines } from "#core/asn1/pem.ts";
import { caId } from "#core/ids.ts";
import { Problem, type ProblemCode, refuse } from "#core/problems.ts";
import { oneOf, otherwise } from "#core/shape.ts";
import { segmentOctets } from "#core/x509/crl-segments.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { CrlPublisher } from "#domain/revocation/crl.ts";
import type { CrlCopies } from "#domain/revocation/crl-copies.ts";
import {
  type CrlScopes,
  fullScope,
  partitionNumber,
  partitionScope,
} from "#domain/revocation/scopes.ts";
import type { CrlHead, CrlKind } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";
import { described, type PublicHandler, type PublicRequest } from "#http/public.ts";
import { cacheableInParts, type LongContent } from "#http/validators.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly publisher: Pick<CrlPublisher, "current" | "pieces">;
  /** Lists to serve while the database is unavailable. */
  readonly crlCopies: Pick<CrlCopies, "find" | "readChunks">;
  readonly scopes: Pick<CrlScopes, "named">;
  /** 0 means until nextUpdate. */
  readonly crl: { readonly http_max_age_seconds: number };
}

/**
 * Serves every list of a CA. Refuses `not_found` for an unknown CA, `bad_partition`, `bad_query`
 * for another `format` than `der` and `pem`, `crl_unavailable` when none is unexpired and none can
 * be signed.
 */
export function crlHandlers(deps: Deps) {
  const full = async () => fullScope;
  const partition = (ca: CaRecord, { path }: PublicRequest) =>
    deps.scopes.named(ca.id, path.shard ?? "");
  const pems = new PemFacts(deps.publisher);
  const copies: ListSource = { pieces: (crl, from) => deps.crlCopies.readChunks(crl, from) };
  const copyPems = new PemFacts(copies);
  const serve = (scopeOf: typeof full | typeof partition, kind: CrlKind) =>
    serveOrCopy({ ...deps, copies }, copyPems, kind, served(deps, pems, scopeOf, kind));
  return {
    "crl.read": described(serve(full, "base"), listOf("The CRL of a CA.")),
    "crl.delta": described(
      serve(full, "delta"),
      listOf("What has changed since the base of the CRL."),
    ),
    "crl.partition": described(
      serve(partition, "base"),
      listOf("The CRL of one partition of a CA's certificates.", "bad_partition"),
    ),
    "crl.partition_delta": described(
      serve(partition, "delta"),
      listOf("What has changed since the base of a partition's CRL.", "bad_partition"),
    ),
  };
}

const listOf = (summary: string, ...own: readonly ProblemCode[]) => ({
  summary,
  refuses: [...own, "crl_unavailable" as const],
  query: { format: otherwise(oneOf(["der", "pem"]), "der") },
  gives: ["application/pkix-crl", "application/x-pem-file"],
});

function served(
  { store, clock, publisher, crl }: Deps,
  pems: PemFacts,
  scopeOf: (ca: CaRecord, request: PublicRequest) => Promise<string>,
  kind: CrlKind,
): PublicHandler {
  return async (asked) => {
    const pem = wantsPem(asked.query);
    const ca = await store.read.cas.byId(caId(asked.path.id ?? ""));
    if (ca === undefined) throw refuse("not_found");
    const scope = await scopeOf(ca, asked);
    return await ofWhatIsKept(
      () => publisher.current(ca, scope, kind),
      async (head) => {
        const rendered = pem ? await asPem(publisher, pems, head) : asDer(publisher, head);
        return cacheableInParts(asked.request, addValidity(rendered, head, crl), clock.now());
      },
    );
  };
}

/**
 * Adds the expiry and caching of a list. `publishedAt` is never thisUpdate, which is backdated: a
 * copy fetched just before a revocation would pass for current.
 */
function addValidity(
  rendered: Rendered,
  { publishedAt, nextUpdate: expires }: CrlHead,
  { http_max_age_seconds }: Deps["crl"],
): LongContent {
  const maxAgeSeconds = Math.min(http_max_age_seconds || week, week);
  return { ...rendered, publishedAt, expires, maxAgeSeconds };
}

/**
 * Serves the copy of an unexpired list if the database is unavailable (http-api 4.8). The copy also
 * replaces the list of a database that lacks acknowledged changes.
 */
function serveOrCopy(
  { store, crlCopies, copies, clock, crl }: Deps & { readonly copies: ListSource },
  pems: PemFacts,
  kind: CrlKind,
  serve: PublicHandler,
): PublicHandler {
  const serveCopy = async (request: PublicRequest) => {
    const head = findCopy(crlCopies, request, kind);
    if (head === undefined) return undefined;
    const isPem = wantsPem(request.query);
    const rendered = isPem ? await asPem(copies, pems, head) : asDer(copies, head);
    return cacheableInParts(request.request, addValidity(rendered, head, crl), clock.now());
  };
  return async (request) => {
    const newer = store.rollback() === undefined ? undefined : await serveCopy(request);
    if (newer !== undefined) return newer;
    try {
      return await serve(request);
    } catch (error) {
      const isUnavailable =
        error instanceof Problem && /^(storage|crl)_unavailable$/.test(error.code);
      const copy = isUnavailable ? await serveCopy(request) : undefined;
      if (copy === undefined) throw error;
      return copy;
    }
  };
}

function findCopy(
  crlCopies: Deps["crlCopies"],
  { path }: PublicRequest,
  kind: CrlKind,
): CrlHead | undefined {
  const scope = path.shard === undefined ? fullScope : partitionScope(Number(path.shard));
  return crlCopies.find(caId(path.id ?? ""), scope, kind);
}

/**
 * What is rendered of the list that is current. Two newer bases make the server forget it while its
 * octets are fetched; then the one that is current by now is rendered, instead of refusing what
 * there is.
 */
async function ofWhatIsKept(
  current: () => Promise<CrlHead>,
  render: (crl: CrlHead) => Promise<Response>,
): Promise<Response> {
  for (let crl = await current(), left = newerMax; ; left--) {
    try {
      return await render(crl);
    } catch (error) {
      const { number } = crl;
      crl = await current();
      if (left === 0 || crl.number === number) throw error;
    }
  }
}

function wantsPem(query: string): boolean {
  const format = query === "" ? null : new URLSearchParams(query).get("format");
  if (format === null || format === "der") return false;
  if (format === "pem") return true;
  throw refuse("bad_query", { parameter: "format", reason: "must be der or pem" });
}

/** Bytes of lists, by their heads. */
type ListSource = Pick<CrlPublisher, "pieces">;

type Rendered = Omit<LongContent, "maxAgeSeconds" | "publishedAt" | "expires">;

const asDer = (publisher: ListSource, crl: CrlHead): Rendered => ({
  size: crl.size,
  sha256: crl.sha256,
  contentType: "application/pkix-crl",
  disposition: `attachment; filename="${nameOf(crl)}.der"`,
  from: (first) => {
    const position = Math.floor(first / segmentOctets);
    return { offset: position * segmentOctets, pieces: publisher.pieces(crl, position) };
  },
});

async function asPem(publisher: ListSource, pems: PemFacts, crl: CrlHead): Promise<Rendered> {
  return {
    ...(await pems.of(crl)),
    contentType: "application/x-pem-file",
    disposition: `attachment; filename="${nameOf(crl)}.pem"`,
    from: () => ({ offset: 0, pieces: pemOf(publisher.pieces(crl)) }),
  };
}

/** Length and digest of lists as PEM, each counted once. */
class PemFacts {
  readonly #publisher: ListSource;
  readonly #known = new Map<string, { readonly size: number; readonly sha256: string }>();

  constructor(publisher: ListSource) {
    this.#publisher = publisher;
  }

  async of(crl: CrlHead): Promise<{ readonly size: number; readonly sha256: string }> {
    const known = this.#known.get(crl.sha256);
    if (known !== undefined) return known;
    const hash = createHash("sha256");
    let size = 0;
    for await (const piece of pemOf(this.#publisher.pieces(crl))) {
      hash.update(piece);
      size += piece.length;
    }
    if (this.#known.size >= knownMax) this.#known.clear();
    const facts = { size, sha256: hash.digest("hex") };
    this.#known.set(crl.sha256, facts);
    return facts;
  }
}

async function* pemOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(pemHead(label));
  let rest = new Uint8Array(0);
  for await (const piece of pieces) {
    const octets = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const whole = octets.length - (octets.length % lineOctets);
    if (whole > 0) yield Buffer.from(pemLines(octets.subarray(0, whole)));
    rest = octets.slice(whole);
  }
  yield Buffer.from(`${rest.length === 0 ? "" : pemLines(rest)}${pemFoot(label)}`);
}

/** `crl`, `crl-delta`, `crl-<n>`, `crl-<n>-delta`. */
function nameOf({ scope, base }: CrlHead): string {
  const number = partitionNumber(scope);
  const partition = number === undefined ? "" : `-${number}`;
  return `crl${partition}${base === undefined ? "" : "-delta"}`;
}

const label = "X509 CRL";
/** Octets of a line of 64 characters (RFC 7468 §2). */
const lineOctets = 48;
/** Lists tried after the first one. */
const newerMax = 3;
const week = 604_800;
const knownMax = 256;
