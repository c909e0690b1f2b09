/**
 * The keys of a new CA: made in their providers and announced in the ledger, or destroyed when
 * nothing comes of them.
 */

import { refuse } from "#core/problems.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import { announceKey } from "#domain/signing/entries.ts";
import { discarded } from "#domain/discard.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { KeyHandle, Keys } from "#domain/keys.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { AlternativeKey } from "#domain/authorities/store.ts";

/** One key, or the two of a hybrid CA. */
export interface CaKeys {
  readonly native: KeyHandle;
  readonly alternative: KeyHandle | undefined;
}

interface Deps {
  readonly store: Pick<Store, "atomically">;
  readonly keys: Keys;
  readonly clock: Clock;
}

/**
 * Refuses `key_unavailable` and `key_type_unsupported`. The alternative key is software-held,
 * always (KEY-3).
 */
export async function makeCaKeys(
  deps: Deps,
  request: {
    readonly label: string;
    readonly keyType: KeyType;
    readonly alternativeKeyType?: KeyType | undefined;
    readonly provider: ProviderName;
    /**
     * The label belongs to this one operation: keys an earlier attempt has made under it are taken,
     * not made anew.
     */
    readonly repeatable?: boolean;
  },
): Promise<CaKeys> {
  const { label, keyType, alternativeKeyType, provider, repeatable } = request;
  const make = repeatable === true ? findOrMake : makeNew;
  const native = await make(deps, { provider, label, keyType });
  if (alternativeKeyType === undefined) return { native, alternative: undefined };
  const second = { label: `${label}-alt`, keyType: alternativeKeyType };
  let alternative: KeyHandle | undefined;
  try {
    alternative = await make(deps, { ...second, provider: "software" });
    const digest = spkiSha256(alternative.spki);
    // The record finds a CA's first key by itself; nobody else may have the second one certified
    // either.
    await deps.store.atomically((tx) => tx.keyChecks.claim(digest));
    return { native, alternative };
  } catch (error) {
    await discardCaKeys(deps, { native, alternative });
    throw error;
  }
}

/**
 * Destroys keys that have signed nothing. Does not throw: its caller says why they are not wanted.
 */
export async function discardCaKeys(deps: Deps, { native, alternative }: CaKeys): Promise<void> {
  const both = alternative === undefined ? [native] : [native, alternative];
  // First all of them go: a database that is away must not keep one of them.
  const gone: KeyHandle[] = [];
  for (const handle of both) {
    if (await discarded(() => deps.keys.destroy(handle.ref))) gone.push(handle);
  }
  for (const handle of gone) {
    // A database that is away is most likely why; the ledger then shows a key that was made and
    // never used.
    await announce(deps, handle, "destroy").catch(() => {});
  }
}

/** A key as the CA's record names it. */
export const alternativeOf = ({ ref, keyType, spki }: KeyHandle): AlternativeKey => ({
  key: ref,
  keyType,
  spki,
});

type KeyRequest = Pick<Parameters<Keys["generate"]>[0], "provider" | "label" | "keyType">;

/** What a crash left unannounced is announced now, before it is used. */
async function findOrMake(deps: Deps, request: KeyRequest): Promise<KeyHandle> {
  const listed = await deps.keys.list(request.provider);
  const [left, second] = listed.filter(({ label }) => label === request.label);
  if (left === undefined) return await makeNew(deps, request);
  // Nobody but this operation makes keys under its label; two of them are nobody's to choose from.
  if (second !== undefined) throw refuse("key_unavailable", { retry_after: 60 });
  const { provider, label, id } = left;
  const handle = await deps.keys.find({ provider, label, id });
  await announce(deps, handle, "find");
  return handle;
}

async function makeNew(deps: Deps, request: KeyRequest): Promise<KeyHandle> {
  const handle = await deps.keys.generate({ ...request, role: "ca" });
  try {
    await announce(deps, handle, "generate");
  } catch (error) {
    // Nobody would know of it, and nobody would ever remove it.
    await discarded(() => deps.keys.destroy(handle.ref));
    throw error;
  }
  return handle;
}

async function announce(deps: Deps, handle: KeyHandle, operation: "generate" | "find" | "destroy") {
  const at = deps.clock.now();
  await deps.store.atomically((tx) => announceKey(tx, handle, "ca", operation, at));
}
