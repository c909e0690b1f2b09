/** ACME as a whole: everything that answers, and what works behind the answers. */

import type { ProfileSet } from "#core/policy/profiles.ts";
import type { Issuance } from "#domain/certificates/issue.ts";
import type { KeyFactsDeps } from "#domain/certificates/key-facts.ts";
import type { Envelopes } from "#domain/envelopes/envelopes.ts";
import type { Clock, Later, Patience, Random } from "#domain/ports.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import type { Store } from "#domain/store.ts";
import { Accounts } from "./accounts.ts";
import { type Bindings, openBindings } from "./bindings.ts";
import { CleanUp } from "./clean-up.ts";
import type { Credentials } from "./credentials.ts";
import { Directories, type DirectorySections } from "./directories.ts";
import { Downloads } from "./downloads.ts";
import type { EabKeyDeps } from "./eab-keys.ts";
import { Finalization } from "./finalize.ts";
import { IdleAccounts } from "./idle-accounts.ts";
import { Inventory } from "./inventory.ts";
import { IssuanceRate, RememberedRate } from "./issuance-rate.ts";
import { AccountKeys } from "./key-checks.ts";
import { UnfinishedOrders } from "#domain/acme/limits/unfinished-orders.ts";
import { WriteRates } from "#domain/acme/limits/write-rates.ts";
import { nonceKey } from "./nonce-key.ts";
import { Nonces } from "./nonces.ts";
import { OpenPlans } from "./open-plans.ts";
import { Orders } from "./orders.ts";
import { RenewalInfo } from "./renewal-info.ts";
import { ReplacementWork } from "./replacement-work.ts";
import { Replacements } from "./replacements.ts";
import { Revocations } from "./revocations.ts";
import type { AcmeSections } from "./sections.ts";
import { Validation, type ValidationDeps } from "./validation.ts";

export interface AcmeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: () => AcmeSections & DirectorySections;
  readonly profiles: () => ProfileSet;
  readonly envelopes: Envelopes;
  readonly issuance: Pick<Issuance, "issue">;
  readonly revoker: Pick<Revoker, "revoke">;
  readonly weakKeys: KeyFactsDeps["weakKeys"];
  readonly validators: ValidationDeps["validators"];
  readonly onAttempt: ValidationDeps["onAttempt"];
  readonly onFault: (error: unknown) => void;
  readonly hasRoom: () => boolean;
  /** False before `hasRoom` is: then ACME stores no accounts and orders. */
  readonly hasSpareSpace: () => boolean;
  readonly patience: Patience;
  readonly later: Later;
  /** Octets of `acme.nonce_hmac_key`, where it is set. */
  readonly configuredNonceKey: () => Promise<Uint8Array | undefined>;
  /** Keys of bindings in the configuration. */
  readonly eabKeys: EabKeyDeps["configured"];
}

export interface Acme {
  readonly directories: Directories;
  readonly credentials: Credentials;
  readonly bindings: Bindings;
  readonly accounts: Accounts;
  readonly orders: Orders;
  readonly validation: Validation;
  readonly finalization: Finalization;
  readonly downloads: Downloads;
  readonly revocations: Revocations;
  readonly renewalInfo: RenewalInfo;
  readonly replacements: Replacements;
  readonly replacementWork: ReplacementWork;
  readonly cleanUp: CleanUp;
  readonly idleAccounts: IdleAccounts;
  /** Refuses `key_unavailable` while their key cannot be opened. */
  readonly nonces: () => Promise<Nonces>;
  /** One nonce at once; undefined as long as their key is not open, which this begins. */
  readonly freshNonce: () => string | undefined;
}

/** Puts it together; nothing is read or made before somebody asks. */
export function openAcme(deps: AcmeDeps): Acme {
  const directories = new Directories(deps);
  const { credentials, bindings } = openBindings({
    ...deps,
    directories,
    configured: deps.eabKeys,
  });
  const inventory = new Inventory(deps.store);
  const rates = new WriteRates(deps);
  const unfinished = new UnfinishedOrders(deps);
  const common = { ...deps, directories, bindings, inventory, rates, unfinished };
  const spare = { hasRoom: deps.hasSpareSpace };
  const orders = new Orders({ ...common, ...spare });
  const seen = new IssuanceRate();
  const rate = new RememberedRate({ ...deps, rate: seen });
  const plans = new OpenPlans(deps);
  return {
    directories,
    credentials,
    bindings,
    accounts: new Accounts({ ...common, ...spare, keys: new AccountKeys(deps) }),
    orders,
    validation: new Validation(common),
    finalization: new Finalization({
      ...common,
      orders,
      rate: seen,
      plans,
      issuance: { issue: (...args) => issueAndRefund(deps.issuance, rates, args) },
    }),
    downloads: new Downloads(deps),
    revocations: new Revocations(common),
    renewalInfo: new RenewalInfo(common),
    replacements: new Replacements({ ...deps, rate, plans }),
    replacementWork: new ReplacementWork({ ...deps, rate }),
    cleanUp: new CleanUp(deps),
    idleAccounts: new IdleAccounts(deps),
    ...opened(deps),
  };
}

/** Issues a certificate and refunds the tokens of its order. */
async function issueAndRefund(
  issuance: AcmeDeps["issuance"],
  rates: WriteRates,
  args: Parameters<AcmeDeps["issuance"]["issue"]>,
): ReturnType<AcmeDeps["issuance"]["issue"]> {
  const issued = await issuance.issue(...args);
  const [{ principal, ip }, ca] = args;
  rates.refund(ca.tenant, principal.subject.slice("acme:".length), ip);
  return issued;
}

/** The key is opened once; a refusal is none for good. */
function opened(deps: AcmeDeps): Pick<Acme, "nonces" | "freshNonce"> {
  let [opening, open]: [Promise<Nonces> | undefined, Nonces | undefined] = [undefined, undefined];
  const make = async () => {
    const key = await nonceKey({ ...deps, configured: deps.configuredNonceKey });
    open = new Nonces({ ...deps, key });
    return open;
  };
  const nonces = () => {
    opening ??= make().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    nonces,
    freshNonce: () => {
      // Whoever cannot do without one is told why there is none.
      if (open === undefined) nonces().catch(() => {});
      return open?.fresh();
    },
  };
}
