/** Measures every key operation: what it was, how it ended, how long it took. */

import { Problem } from "#core/problems.ts";
import type { Keys, ProviderFacts } from "#domain/keys.ts";

import type { KeyHooks, KeyOperation } from "./settings.ts";

/** Wraps `keys`; `measured` hears `ok`, the code of the refusal, or `fault`. */
export function measured(keys: Keys, hooks: KeyHooks): Keys {
  const { measured: report, unwrapped } = hooks;
  if (report === undefined && unwrapped === undefined) return keys;
  const timed = <T>(operation: KeyOperation, work: Promise<T>): Promise<T> =>
    timedWork(report, operation, work);
  return {
    generate: (wanted) => timed("generate", keys.generate(wanted)),
    find: (ref) => timed("find", keys.find(ref)),
    sign: (ticket, message) => timed("sign", keys.sign(ticket, message)),
    destroy: (ref) => timed("destroy", keys.destroy(ref)),
    keks: {
      ...keys.keks,
      generate: (wanted) => timed("generate", keys.keks.generate(wanted)),
      unwrap: async (kek, wrapped) => {
        const dek = await timed("decrypt", keys.keks.unwrap(kek, wrapped));
        unwrapped?.(kek);
        return dek;
      },
    },
    intake: keys.intake,
    list: (provider) => keys.list(provider),
    facts: () => pinged(report, keys),
    close: () => keys.close(),
  };
}

/** Reads a public key, told apart from looking a key up. */
export const publicKeyOf =
  (keys: Pick<Keys, "find">, { measured: report }: KeyHooks): Keys["find"] =>
  (ref) =>
    timedWork(report, "public_key", keys.find(ref));

function timedWork<T>(
  report: KeyHooks["measured"],
  operation: KeyOperation,
  work: Promise<T>,
): Promise<T> {
  const started = performance.now();
  const ended = (result: string) =>
    report?.(operation, result, (performance.now() - started) / 1000);
  return work.then(
    (made) => {
      ended("ok");
      return made;
    },
    (fault) => {
      ended(fault instanceof Problem ? fault.code : "fault");
      throw fault;
    },
  );
}

/**
 * Facts are never refused, so a provider that does not answer shows in them: each is a ping of its
 * own.
 */
async function pinged(
  report: KeyHooks["measured"],
  keys: Pick<Keys, "facts">,
): Promise<readonly ProviderFacts[]> {
  const started = performance.now();
  const all = await keys.facts();
  const seconds = (performance.now() - started) / 1000;
  for (const { available } of all) report?.("ping", available ? "ok" : "key_unavailable", seconds);
  return all;
}
