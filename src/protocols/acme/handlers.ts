/**
 * Every request of ACME with what answers it (RFC 8555 §7, RFC 9773). What belongs to an account is
 * read by signed POST, never by GET (AC-6).
 */

import { readAccountKey } from "#core/acme/account-keys.ts";
import { parseInnerJws, payloadObject, type AcmeJws } from "#core/acme/jws.ts";
import { addressKey } from "#core/address-key.ts";
import { sha256Hex } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import type { Accounts, NewAccount } from "#domain/acme/accounts.ts";
import type { Directory } from "#domain/acme/directories.ts";
import type { Downloads } from "#domain/acme/downloads.ts";
import type { Finalization } from "#domain/acme/finalize.ts";
import type { Nonces } from "#domain/acme/nonces.ts";
import type { NewOrder, Orders } from "#domain/acme/orders.ts";
import type { RenewalInfo } from "#domain/acme/renewal-info.ts";
import type { Revocations } from "#domain/acme/revocations.ts";
import type { AcmeSections } from "#domain/acme/sections.ts";
import type {
  AccountRecord,
  AuthorizationRecord,
  ChallengeRecord,
  OrderRecord,
} from "#domain/acme/store.ts";
import type { Validation } from "#domain/acme/validation.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { DerAnswer, type DerHandler, described, type PublicHandler } from "#http/public.ts";

import {
  accountJson,
  authorizationJson,
  challengeJson,
  type ChallengeFacts,
  indexLink,
  orderJson,
  time,
} from "./answers.ts";
import {
  Door,
  type DoorDeps,
  type OfAccount,
  type OfKey,
  type RevocationMessage,
  type Spending,
} from "./request.ts";

export interface AcmeHandlerDeps extends DoorDeps {
  readonly store: Pick<Store, "read">;
  readonly clock: Clock;
  readonly config: () => AcmeSections;
  readonly accounts: Accounts;
  readonly orders: Orders;
  readonly validation: Validation;
  readonly finalization: Finalization;
  readonly downloads: Downloads;
  readonly revocations: Revocations;
  readonly renewalInfo: RenewalInfo;
}

/** The complete set. */
export function acmeHandlers(deps: AcmeHandlerDeps) {
  const door = new Door(deps);
  return {
    "acme.directory": said("The directory.", door.open(directoryAnswer(deps)), json),
    "acme.nonce": Object.assign(nonceAnswer(deps), { summary: "A fresh nonce." }),
    "acme.account.new": signed("An account.", door.key(newAccount(deps))),
    "acme.account": signed("An account, changed or ended.", door.account(account(deps))),
    "acme.account.orders": signed("The orders of an account.", door.account(ordersOf(deps))),
    "acme.order.new": signed("Creates an order for names.", door.spending(newOrder(deps))),
    "acme.authz.new": signed("An authorization before an order.", door.account(newAuthz(deps))),
    "acme.order": signed("Returns an order.", door.account(order(deps))),
    "acme.order.finalize": signed(
      "Issues the certificate of a ready order.",
      door.spending(finalize(deps)),
    ),
    "acme.authz": signed("An authorization, or its end.", door.account(authorization(deps))),
    "acme.challenge": signed("A challenge, or its response.", door.spending(challenge(deps))),
    "acme.certificate": signed("A chain.", door.account(certificate(deps)), pemChain),
    "acme.certificate.other": signed("Another chain.", door.account(certificate(deps)), pemChain),
    "acme.revoke": signed("A certificate revoked.", door.revocation(revoke(deps))),
    "acme.key_change": signed("Another key for an account.", door.account(keyChange(deps))),
    "acme.renewal_info": said("When to renew.", door.open(renewalInfo(deps)), json),
  };
}

const json = "application/json";
const pemChain = "application/pem-certificate-chain";

const said = (summary: string, handler: PublicHandler, gives: string): PublicHandler =>
  described(handler, { summary, gives: [gives] });

const signed = (summary: string, handler: PublicHandler, gives = json): PublicHandler =>
  described(handler, { summary, takes: "application/jose+json", gives: [gives] });

/** RFC 8555 §7.1.1; built from the configuration alone. */
function directoryAnswer({ config }: AcmeHandlerDeps) {
  return ({ directory, request }: { directory: Directory; request: Request }): Response => {
    const body = JSON.stringify(directoryJson(directory, config()));
    const etag = `"${sha256Hex(new TextEncoder().encode(body))}"`;
    const headers = { "content-type": json, "cache-control": "no-cache", etag };
    const known = request.headers.get("if-none-match");
    const same = known?.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
    if (same || known?.trim() === "*") return new Response(null, { status: 304, headers });
    return new Response(body, { headers });
  };
}

function directoryJson(directory: Directory, { acme, caa }: AcmeSections) {
  const profiles = Object.entries(directory.profiles).map(([name, { description }]) => [
    name,
    description,
  ]);
  const persists = acme.challenge_types.includes("dns-persist-01") && caa.identifier !== undefined;
  return {
    newNonce: directory.url("/new-nonce"),
    newAccount: directory.url("/new-account"),
    newOrder: directory.url("/new-order"),
    ...(acme.pre_authorization && { newAuthz: directory.url("/new-authz") }),
    revokeCert: directory.url("/revoke-cert"),
    keyChange: directory.url("/key-change"),
    renewalInfo: directory.url("/renewal-info"),
    meta: {
      ...(acme.terms_of_service !== undefined && { termsOfService: acme.terms_of_service }),
      ...(caa.identifier !== undefined && { caaIdentities: [caa.identifier] }),
      externalAccountRequired: directory.requireEab,
      ...(profiles.length > 0 && { profiles: Object.fromEntries(profiles) }),
      ...(persists && {
        issuerDomainNames: [caa.identifier],
        accountHashPrefix: directory.url("/account-hash/"),
      }),
    },
  };
}

/**
 * RFC 8555 §7.2: 200 to HEAD, 204 to GET. Every client begins with one, so it is answered at once,
 * as soon as the key of nonces has been opened.
 */
function nonceAnswer({ nonces, directories }: AcmeHandlerDeps): DerHandler {
  let open: Nonces | undefined;
  const answer = (request: Request, directory: Directory, from: Nonces): DerAnswer => {
    const headers = new Headers({
      "replay-nonce": from.fresh(),
      "cache-control": "no-store",
      link: indexLink(directory.url("/directory")),
    });
    return new DerAnswer(undefined, headers, request.method === "HEAD" ? 200 : 204);
  };
  return ({ request, path }) => {
    const directory = directories.named(path.directory ?? "default");
    // While ACME is off there is no key of nonces, and none is made.
    if (directory === undefined) throw refuse("not_found");
    if (open !== undefined) return answer(request, directory, open);
    return nonces().then((from) => {
      open = from;
      return answer(request, directory, from);
    });
  };
}

/** RFC 8555 §7.3, §7.3.1. */
function newAccount({ accounts }: AcmeHandlerDeps) {
  return async ({ directory, key, jws, whence }: OfKey): Promise<Response> => {
    const asked: NewAccount = payloadObject(jws);
    const { account, made } = await accounts.enter(directory, key, asked, whence);
    return answered(accountJson(directory, account), {
      status: made ? 201 : 200,
      location: directory.url(`/acct/${account.id}`),
    });
  };
}

/** RFC 8555 §7.3.2, §7.3.6. */
function account({ accounts }: AcmeHandlerDeps) {
  return async (asked: OfAccount): Promise<Response> => {
    requireOwn(asked);
    const { directory, jws, origin } = asked;
    const { status, contact } = membersOf(jws);
    let known = asked.account;
    if (status === "deactivated") known = await accounts.deactivate(origin, known);
    else if (contact !== undefined) known = await accounts.setContacts(known, contact);
    return answered(accountJson(directory, known));
  };
}

/** RFC 8555 §7.1.2.1. */
function ordersOf({ store, clock }: AcmeHandlerDeps) {
  return async (asked: OfAccount): Promise<Response> => {
    requireOwn(asked);
    const { directory, account: known, query } = asked;
    const after = cursorIn(query);
    const filter = { reach: "platform", account: known.id, now: clock.now() } as const;
    const page = await store.read.acme.orders(filter, ordersShown, after);
    const response = answered({
      orders: page.items.map(({ id }) => directory.url(`/order/${id}`)),
    });
    if (page.next !== undefined) {
      const { at, id } = page.next;
      const next = directory.url(`/acct/${known.id}/orders?after=${at}.${id}`);
      response.headers.set("link", `<${next}>;rel="next"`);
    }
    return response;
  };
}

/** RFC 8555 §7.4. */
function newOrder({ orders }: AcmeHandlerDeps) {
  return async (request: OfAccount & Spending): Promise<Response> => {
    const { directory, account: of, jws, origin, spend } = request;
    const asked: NewOrder = payloadObject(jws);
    const made = await orders.create(origin, directory, of, asked, spend);
    return await ofOrder(orders, directory, made, 201);
  };
}

/** RFC 8555 §7.4.1. */
function newAuthz(deps: AcmeHandlerDeps) {
  return async ({ directory, account: of, jws, origin }: OfAccount): Promise<Response> => {
    const { identifier } = payloadObject(jws);
    const made = await deps.orders.authorize(origin, directory, of, identifier);
    const shown = authorizationJson(directory, made, factsOf(deps), deps.clock.now());
    return answered(shown, { status: 201, location: directory.url(`/authz/${made.id}`) });
  };
}

function order({ orders }: AcmeHandlerDeps) {
  return async ({ directory, account: of, path, jws }: OfAccount): Promise<Response> => {
    requireRead(jws);
    return await ofOrder(orders, directory, await orders.order(of, path.order ?? ""));
  };
}

/** RFC 8555 §7.4. */
function finalize({ finalization, orders }: AcmeHandlerDeps) {
  return async (asked: OfAccount & Spending): Promise<Response> => {
    const { directory, account: of, path, jws, origin, spend } = asked;
    const csr = octetsOf(payloadObject(jws).csr);
    if (csr === undefined) throw refuse("acme_bad_csr", { reason: "csr is not base64url" });
    const asking = { origin, directory, account: of };
    const made = await finalization.finalize(asking, path.order ?? "", csr, spend);
    return await ofOrder(orders, directory, made);
  };
}

/** RFC 8555 §7.5, §7.5.2. */
function authorization(deps: AcmeHandlerDeps) {
  return async ({ directory, account: of, path, jws, origin }: OfAccount): Promise<Response> => {
    const id = path.authz ?? "";
    const { status } = membersOf(jws);
    const { orders, clock } = deps;
    const found =
      status === "deactivated"
        ? await orders.deactivate(origin, of, id)
        : await orders.authorization(of, id);
    const response = answered(authorizationJson(directory, found, factsOf(deps), clock.now()));
    const busy = found.challenges.some(isBusy) && found.status === "pending";
    if (busy) response.headers.set("retry-after", "2");
    return response;
  };
}

/** RFC 8555 §7.5.1. */
function challenge(deps: AcmeHandlerDeps) {
  return async (asked: OfAccount & Spending): Promise<Response> => {
    const { directory, account: of, path } = asked;
    const { authorization, challenge: found } = await deps.orders.challenge(
      of,
      path.challenge ?? "",
    );
    const begun = asked.jws.postAsGet ? false : await begin(deps, asked, authorization, found.id);
    const shown: ChallengeRecord = begun ? { ...found, status: "processing" } : found;
    const response = answered(challengeJson(directory, shown, factsOf(deps)));
    const up = directory.url(`/authz/${authorization.id}`);
    response.headers.set("link", `<${up}>;rel="up"`);
    if (isBusy(shown)) response.headers.set("retry-after", "2");
    return response;
  };
}

/** Has the proof looked for; false where that is under way or decided already. */
async function begin(
  { validation, clock, store }: AcmeHandlerDeps,
  { account: of, jws, spend, origin }: OfAccount & Spending,
  { expiresAt, identifier }: AuthorizationRecord,
  challengeId: string,
): Promise<boolean> {
  payloadObject(jws);
  if (clock.now() >= expiresAt) {
    throw refuse("acme_malformed", { reason: "the authorization has expired" });
  }
  const tenant = await store.read.tenants.named(of.tenant);
  if (tenant?.status !== "active") throw refuse("tenant_suspended");
  const source = { tenant: of.tenant, block: addressKey(origin.ip) };
  const due = { id: challengeId, account: of.id, host: identifier.value, source };
  return await validation.begin(due, spend);
}

/** RFC 8555 §7.4.2. */
function certificate({ downloads }: AcmeHandlerDeps) {
  return async ({ directory, account: of, path, jws, request }: OfAccount): Promise<Response> => {
    requireRead(jws);
    requireAccepted(request.headers.get("accept"));
    const id = path.certificate ?? "";
    const { n } = path;
    if (n !== undefined && !/^[1-9][0-9]{0,3}$/.test(n)) throw refuse("acme_not_found");
    const { pem, alternates } = await downloads.chain(of, id, n === undefined ? 0 : Number(n));
    const headers = new Headers({ "content-type": pemChain });
    for (let other = 1; other <= alternates; other++) {
      headers.append("link", `<${directory.url(`/cert/${id}/${other}`)}>;rel="alternate"`);
    }
    return new Response(pem, { headers });
  };
}

/** RFC 8555 §7.6. */
function revoke({ revocations }: AcmeHandlerDeps) {
  return async ({
    directory,
    jws,
    whence: context,
    by,
    authorize,
  }: RevocationMessage): Promise<Response> => {
    const members = payloadObject(jws);
    const der = octetsOf(members.certificate);
    if (der === undefined)
      throw refuse("acme_malformed", { reason: "certificate is not base64url" });
    const who =
      "account" in by
        ? ({ by: "account", account: by.account } as const)
        : ({ by: "key", key: by.key } as const);
    await revocations.revoke(directory, who, der, {
      reasonCode: members.reason,
      context,
      authorize,
    });
    return new Response(null, { status: 200 });
  };
}

/** RFC 8555 §7.3.5. */
function keyChange({ accounts }: AcmeHandlerDeps) {
  return async ({ directory, account: of, jws, origin }: OfAccount): Promise<Response> => {
    const inner = parseInnerJws(jws.payload);
    if (inner.url !== jws.url) {
      throw refuse("acme_malformed", { reason: "the inner url is another than the outer one" });
    }
    const next = readAccountKey(inner.jwk, inner.algorithm);
    const key = await accounts.keySigner(inner);
    const { account: named, oldKey } = payloadObject(inner);
    if (named !== directory.url(`/acct/${of.id}`)) {
      throw refuse("acme_malformed", { reason: "account names another account" });
    }
    if (!isKeyOf(oldKey, jws, of)) {
      throw refuse("acme_malformed", { reason: "oldKey is not the key of the account" });
    }
    if (next.thumbprint !== key.thumbprint) throw refuse("acme_bad_public_key", {});
    const changed = await accounts.changeKey(origin, directory, of, key);
    return answered(accountJson(directory, changed));
  };
}

/** RFC 9773 §4.2. */
function renewalInfo(deps: AcmeHandlerDeps) {
  return async ({
    directory,
    path,
  }: {
    directory: Directory;
    path: Readonly<Record<string, string>>;
  }): Promise<Response> => {
    const found = await deps.renewalInfo.of(directory, path.certid ?? "");
    const { start, end, retryAfterSeconds, explanationUrl } = found;
    const body = {
      suggestedWindow: { start: time(start), end: time(end) },
      ...(explanationUrl !== undefined && { explanationURL: explanationUrl }),
    };
    return answered(body, { cached: false, retryAfter: retryAfterSeconds });
  };
}

async function ofOrder(
  orders: Orders,
  directory: Directory,
  made: OrderRecord,
  status = 200,
): Promise<Response> {
  const location = directory.url(`/order/${made.id}`);
  const retryAfter = made.status === "processing" ? 2 : undefined;
  const shown = orderJson(directory, made, await orders.replacedCertId(made));
  return answered(shown, { status, location, retryAfter });
}

interface Answering {
  readonly status?: number;
  readonly location?: string;
  readonly retryAfter?: number | undefined;
  readonly cached?: false;
}

function answered(body: unknown, { status = 200, location, retryAfter }: Answering = {}): Response {
  const headers: Record<string, string> = { "content-type": json, "cache-control": "no-store" };
  if (location !== undefined) headers.location = location;
  if (retryAfter !== undefined) headers["retry-after"] = String(retryAfter);
  return new Response(JSON.stringify(body), { status, headers });
}

/** The members of a request that may be one to read. */
const membersOf = (jws: AcmeJws): Readonly<Record<string, unknown>> =>
  jws.postAsGet ? {} : payloadObject(jws);

/** RFC 8555 §6.3. */
function requireRead({ postAsGet }: AcmeJws): void {
  if (!postAsGet) throw refuse("acme_malformed", { reason: "this takes an empty payload" });
}

/** What an account asks of itself: of another it learns nothing. */
function requireOwn({ account: known, path }: OfAccount): void {
  if (path.account !== known.id) {
    throw refuse("acme_unauthorized", { reason: "the account is another one" });
  }
}

function requireAccepted(accept: string | null): void {
  if (accept === null) return;
  const fits = accept.split(",").some((one) => {
    const [type = ""] = one.split(";");
    return ["*/*", "application/*", pemChain].includes(type.trim().toLowerCase());
  });
  if (!fits) throw refuse("acme_not_acceptable");
}

/** `oldKey` says whose place the new key takes. */
function isKeyOf(oldKey: unknown, { algorithm }: AcmeJws, { thumbprint }: AccountRecord): boolean {
  return readAccountKey(oldKey, algorithm).thumbprint === thumbprint;
}

function octetsOf(text: unknown): Uint8Array | undefined {
  if (typeof text !== "string" || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  return new Uint8Array(Buffer.from(text, "base64url"));
}

/** `?after=<time>.<id>`, as the page before said. */
function cursorIn(query: string) {
  if (query === "") return undefined;
  const [, at, id] = /^after=(\d{1,16})\.([0-9a-f-]{36})$/.exec(query) ?? [];
  if (at === undefined || id === undefined) throw refuse("bad_cursor");
  return { at: Number(at), id };
}

const isBusy = ({ status }: ChallengeRecord): boolean => status === "processing";

const factsOf = ({ config }: AcmeHandlerDeps): ChallengeFacts => {
  const { identifier } = config().caa;
  return { issuerDomainNames: identifier === undefined ? [] : [identifier] };
};

const ordersShown = 500;
