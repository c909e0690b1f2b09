/** Requests to ACME resources: read, held against where they came, and known by who signed them. */

import type { AccountKey } from "#core/acme/account-keys.ts";
import { type AcmeJws, parseJws } from "#core/acme/jws.ts";
import { assert, Problem, refuse } from "#core/problems.ts";
import type { Accounts } from "#domain/acme/accounts.ts";
import type { Directories, Directory } from "#domain/acme/directories.ts";
import type { Nonces, Spend } from "#domain/acme/nonces.ts";
import { acmeOrigin, type Whence } from "#domain/acme/origin.ts";
import type { AccountRecord } from "#domain/acme/store.ts";
import type { Origin } from "#domain/actor.ts";
import { readBytes } from "#http/body.ts";
import type { PublicHandler, PublicRequest } from "#http/public.ts";
import { splitUrl } from "#http/request.ts";

import { indexLink, problemResponse } from "./answers.ts";

export interface DoorDeps {
  readonly directories: Directories;
  readonly accounts: Accounts;
  readonly nonces: () => Promise<Nonces>;
  /** Counts what is asked of a directory's tenant (RATE-1). */
  readonly admitDirectory: (directory: Directory) => Promise<void>;
  /** The same of an account that has signed: nobody uses up what is another's. */
  readonly admitAccount: (account: string) => void;
  /**
   * Counts an attempt of the address, or refuses `rate_limited`. The returned function takes the
   * count back.
   */
  readonly attempt: (ip: string) => () => void;
}

/** A request below a directory. */
export interface Asked {
  readonly directory: Directory;
  readonly path: PublicRequest["path"];
  readonly query: string;
  readonly request: Request;
  readonly whence: Whence;
}

/** One that is signed, by whomever. */
export interface Signed extends Asked {
  readonly jws: AcmeJws;
}

/** Signed by an account. */
export interface OfAccount extends Signed {
  readonly account: AccountRecord;
  readonly key: AccountKey;
  readonly origin: Origin;
}

/** What takes the nonce of a request. */
export interface Spending {
  readonly spend: Spend;
}

/** Signed by the key it brings with it. */
export interface OfKey extends Signed {
  readonly key: AccountKey;
}

/** Request to revoke a certificate. */
export interface RevocationMessage extends Signed {
  readonly by: OfAccount | OfKey;
  /** Called when the right to revoke has been verified; the request then counts for nothing. */
  readonly authorize: () => void;
}

/** The ways into ACME; each turns what answers a request into a handler. */
export class Door {
  readonly #deps: DoorDeps;

  constructor(deps: DoorDeps) {
    this.#deps = deps;
  }

  /** For GET: nobody signs. */
  open(answer: (asked: Asked) => Response | Promise<Response>): PublicHandler {
    return async (request) => {
      const asked = this.#asked(request);
      return withIndex(await answer(asked), asked.directory);
    };
  }

  /** For requests of an account (`kid`). */
  account(answer: (asked: OfAccount) => Promise<Response>): PublicHandler {
    return this.#signed(async (signed) => {
      const asked = await this.#ofAccount(signed);
      if (!signed.jws.postAsGet) {
        await this.#takeNonce(signed);
        return await answer(asked);
      }
      // What only reads need not wait until its nonce is on disk to begin.
      const [taken, answered] = await Promise.allSettled([this.#takeNonce(signed), answer(asked)]);
      if (taken.status === "rejected") throw taken.reason;
      if (answered.status === "rejected") throw answered.reason;
      return answered.value;
    });
  }

  /**
   * The same for what takes the nonce in the first unit it commits; where it commits none, or is
   * refused, the nonce is taken behind it.
   */
  spending(answer: (asked: OfAccount & Spending) => Promise<Response>): PublicHandler {
    return this.#signed(async (signed) => {
      const asked = await this.#ofAccount(signed);
      const spender = (await this.#deps.nonces()).spender(signed.jws.nonce);
      let spent = false;
      const spend: Spend = async (tx) => {
        spent = true;
        await spender(tx);
      };
      try {
        const response = await answer({ ...asked, spend });
        if (!spent) await this.#takeNonce(signed);
        return response;
      } catch (error) {
        if (isBadNonce(error)) throw error;
        await this.#takeNonce(signed).catch((late: unknown) => {
          // It may have been taken with what has come to nothing afterwards.
          if (!spent || !isBadNonce(late)) throw late;
        });
        throw error;
      }
    });
  }

  /** For requests of a key nobody has to know (`jwk`). */
  key(answer: (asked: OfKey) => Promise<Response>): PublicHandler {
    return this.#signed(async (signed) => {
      if (signed.jws.jwk === undefined) {
        throw refuse("acme_malformed", { reason: "this takes a jwk" });
      }
      const asked = await this.#ofKey(signed);
      await this.#takeNonce(signed);
      return await answer(asked);
    });
  }

  /**
   * Handles revocations, signed by an account or a key. They count only for their address, and only
   * until the right to revoke has been verified (P-7).
   */
  revocation(answer: (request: RevocationMessage) => Promise<Response>): PublicHandler {
    return this.#signed(async (signed) => {
      const authorize = this.#deps.attempt(signed.whence.ip);
      const by =
        signed.jws.kid === undefined
          ? await this.#ofKey(signed)
          : await this.#ofAccount(signed, uncounted);
      await this.#takeNonce(signed);
      return await answer({ ...signed, by, authorize });
    }, uncounted);
  }

  #asked({ request, path, query, ip, requestId }: PublicRequest): Asked {
    const directory = this.#deps.directories.named(path.directory ?? "default");
    if (directory === undefined) throw refuse("not_found");
    return { directory, path, query, request, whence: { ip, requestId } };
  }

  /** Every answer has a nonce for the next request, refusals too (RFC 8555 §6.5). */
  #signed(
    answer: (signed: Signed) => Promise<Response>,
    counting: Counting = counted,
  ): PublicHandler {
    return async (request) => {
      const asked = this.#asked(request);
      const nonces = await this.#deps.nonces();
      const response = await this.#read(asked, counting)
        .then(answer)
        .catch((error: unknown) => {
          if (!(error instanceof Problem)) throw error;
          return problemResponse(error, asked.directory.url("/directory"));
        });
      response.headers.set("replay-nonce", nonces.fresh());
      response.headers.set("cache-control", "no-store");
      return withIndex(response, asked.directory);
    };
  }

  /** P-6: type and size are looked at before anything is read, and that before it is verified. */
  async #read(asked: Asked, counting: Counting): Promise<Signed> {
    const { request, directory } = asked;
    const type = request.headers.get("content-type") ?? "";
    if (!joseJson.test(type)) {
      throw refuse("unsupported_media_type", { expected: "application/jose+json" });
    }
    const jws = parseJws(await readBytes(request, octetsMax));
    const nonces = await this.#deps.nonces();
    // AC-8: the nonce is used up now, also by a message that is refused.
    nonces.reserve(jws.nonce);
    // RFC 8555 §6.4: what was signed for another address is not for this one.
    if (jws.url !== addressOf(asked)) {
      throw refuse("acme_unauthorized", { reason: "the url is not where the request came" });
    }
    if (counting === counted) await this.#deps.admitDirectory(directory);
    return { ...asked, jws };
  }

  async #ofAccount(signed: Signed, counting: Counting = counted): Promise<OfAccount> {
    if (signed.jws.kid === undefined) {
      throw refuse("acme_malformed", { reason: "this takes a kid" });
    }
    const { account, key } = await this.#deps.accounts.signer(signed.jws, signed.directory);
    if (counting === counted) this.#deps.admitAccount(account.id);
    return { ...signed, account, key, origin: acmeOrigin(`acme:${account.id}`, signed.whence) };
  }

  async #ofKey(signed: Signed): Promise<OfKey> {
    const key = await this.#deps.accounts.keySigner(signed.jws);
    return { ...signed, key };
  }

  async #takeNonce({ jws }: Signed): Promise<void> {
    await (await this.#deps.nonces()).use(jws.nonce);
  }
}

/** AC-1: where the request came, as clients know the place; nothing of it is from a header. */
function addressOf({ directory, request, query }: Asked): string {
  const { path } = splitUrl(request.url);
  assert(path.startsWith(directory.path), "a request below a directory has its path");
  const rest = path.slice(directory.path.length);
  return directory.url(query === "" ? rest : `${rest}?${query}`);
}

const isBadNonce = (error: unknown): boolean =>
  error instanceof Problem && error.code === "acme_bad_nonce";

function withIndex(response: Response, directory: Directory): Response {
  const index = indexLink(directory.url("/directory"));
  const links = response.headers.get("link");
  if (links === null) response.headers.set("link", index);
  else if (!links.includes(index)) response.headers.set("link", `${links}, ${index}`);
  return response;
}

/** Whether a request counts against the rates of tenant and account (RATE-1). */
type Counting = typeof counted | typeof uncounted;
const counted = "counted";
const uncounted = "uncounted";
const joseJson = /^application\/jose\+json[ \t]*(?:;|$)/i;
const octetsMax = 262_144;
