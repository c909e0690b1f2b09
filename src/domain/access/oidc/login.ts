/**
 * The authorization code flow with PKCE (OpenID Connect Core §3.1, RFC 7636, RFC 9207): from the
 * button to the session.
 */

import { identityOf, type IdentityClaims } from "#core/jose/claims.ts";
import { equalInConstantTime, sha256 } from "#core/crypto.ts";
import { type ProviderError, providerError } from "#core/jose/provider-error.ts";
import { Problem, type ProblemCode, refuse } from "#core/problems.ts";
import type { Log } from "#domain/ports.ts";
import type { Logins, Opened, Visitor } from "#domain/access/logins.ts";
import { ProviderFault } from "./metadata.ts";
import type { OidcClient, Provider, ProviderClient } from "./provider.ts";
import type { Transactions } from "./transactions.ts";

export interface OidcLoginDeps {
  readonly provider: Provider;
  readonly client: ProviderClient;
  readonly we: OidcClient;
  readonly names: IdentityClaims;
  readonly transactions: Transactions;
  readonly logins: Logins;
  readonly log: Log;
}

/** What the browser brings back. A parameter given twice is absent. */
export interface Returned {
  readonly code: string | undefined;
  readonly state: string | undefined;
  readonly error: string | undefined;
  readonly description: string | undefined;
  readonly issuer: string | undefined;
  /** The transaction cookie. */
  readonly transaction: string | undefined;
}

/** The service. */
export class OidcLogin {
  readonly #deps: OidcLoginDeps;
  /** Exchanges under way; a provider that is slow must not pile them up here. */
  #redeeming = 0;

  constructor(deps: OidcLoginDeps) {
    this.#deps = deps;
  }

  /** Where to send the browser, and the transaction it is to carry; refuses `oidc_unavailable`. */
  async begin(): Promise<{ readonly location: string; readonly transaction: string }> {
    const { provider, client, we, transactions } = this.#deps;
    const { secrets, text } = transactions.begin();
    try {
      const metadata = await provider.metadata();
      const location = await client.authorizationUrl(metadata, we, secrets);
      return { location, transaction: text };
    } catch (error) {
      this.#logFault(error);
      throw refuse("oidc_unavailable", { retry_after: 5 });
    }
  }

  /**
   * The session of whoever the provider says has logged in. Refuses with the codes of AUTH-4; every
   * refusal is an event. What the provider says of an error goes to the log and into that event,
   * and is shown to nobody: anybody can write such an address.
   */
  async complete(returned: Returned, visitor: Visitor): Promise<Opened> {
    const heard: Heard = { said: undefined };
    const identity = await this.#identity(returned, heard).catch(async (thrown: unknown) => {
      if (thrown instanceof Problem) {
        const result = thrown.status === 502 ? "error" : "denied";
        const { ip, requestId } = visitor;
        const failure = { method: "oidc", reason: thrown.code, loginName: "" } as const;
        await this.#deps.logins.failed({ ...failure, ...heard.said, ip, requestId }, result);
      }
      throw thrown;
    });
    return this.#deps.logins.vouched("oidc", identity, visitor);
  }

  async #identity(returned: Returned, heard: Heard) {
    const { transactions, provider, we, names } = this.#deps;
    const { transaction = "", state = "", code = "" } = returned;
    // 1. The browser is the one that began, and it began less than ten minutes ago.
    const secrets = transactions.read(transaction) ?? never("bad_tx");
    // 2. The answer belongs to that login; only then may it use the login up.
    if (!equal(state, secrets.state)) never("state_mismatch");
    transactions.use(transaction);
    // 3. The answer is from our provider, and it is no error (RFC 9207 §2.4).
    await this.#ownAnswer(returned, heard);
    if (returned.error !== undefined) this.#refused(returned, heard);
    if (code === "") never("no_code");
    // 4. The code is redeemed with the proof that we asked for it.
    const token = await this.#redeemed(code, secrets.codeVerifier, heard);
    // 5. The token is the provider's, for us, now, and for this very login.
    const judged = await provider.judge(token, we.clientId, "id");
    if (judged.verdict === "unavailable") return never("exchange_failed");
    if (judged.verdict === "bad_signature") return never("verify_failed");
    if (judged.verdict !== "good") return never("claims_failed");
    if (!equal(String(judged.claims.nonce ?? ""), secrets.nonce)) never("nonce_mismatch");
    return identityOf(judged.claims, names) ?? never("claims_failed");
  }

  #refused({ error, description }: Returned, heard: Heard): never {
    heard.said = providerError(error, description);
    this.#deps.log.write("warn", "oidc_provider_error", { ...heard.said });
    return never("idp_error");
  }

  async #ownAnswer({ issuer }: Returned, heard: Heard): Promise<void> {
    const metadata = await this.#reaching(() => this.#deps.provider.metadata(), heard);
    const foreign = issuer !== undefined && issuer !== metadata.issuer;
    if (foreign || (issuer === undefined && metadata.namesIssuer)) never("idp_error");
  }

  async #redeemed(code: string, codeVerifier: string, heard: Heard): Promise<string> {
    const { client, we, provider } = this.#deps;
    if (this.#redeeming >= redeemingMax) never("exchange_failed");
    this.#redeeming += 1;
    try {
      const token = await this.#reaching(
        async () => client.exchange(await provider.metadata(), we, { code, codeVerifier }),
        heard,
      );
      return token ?? never("no_id_token");
    } finally {
      this.#redeeming -= 1;
    }
  }

  async #reaching<T>(work: () => Promise<T>, heard: Heard): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ProviderFault) heard.said = error.said;
      this.#logFault(error);
      return never("exchange_failed");
    }
  }

  #logFault(error: unknown): void {
    const why = error instanceof ProviderFault ? error.message : String(error);
    this.#deps.log.write("warn", "oidc_provider_fault", { why });
  }
}

/** What the provider gave as its reason, once it has. */
interface Heard {
  said: ProviderError | undefined;
}

type CallbackCode = Extract<
  ProblemCode,
  | "idp_error"
  | "bad_tx"
  | "state_mismatch"
  | "no_code"
  | "verify_failed"
  | "nonce_mismatch"
  | "claims_failed"
  | "exchange_failed"
  | "no_id_token"
>;

function never(code: CallbackCode): never {
  throw refuse(code);
}

const equal = (one: string, other: string): boolean =>
  equalInConstantTime(digest(one), digest(other));
const digest = (text: string): Uint8Array => sha256(new TextEncoder().encode(text));

const redeemingMax = 64;
