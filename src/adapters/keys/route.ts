/** Hands each key operation to the provider its reference names. */

import { promised } from "#core/at-once.ts";
import { refuse } from "#core/problems.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";

/** One `Keys` over several; a provider that is not configured refuses with `key_unavailable`. */
export function routed(providers: Readonly<Partial<Record<ProviderName, Keys>>>): Keys {
  const all = Object.values(providers);
  const of = (name: ProviderName): Keys => {
    const keys = providers[name];
    if (keys === undefined) throw refuse("key_unavailable", { retry_after: 2 });
    return keys;
  };
  return {
    generate: async (wanted) => of(wanted.provider).generate(wanted),
    find: async (ref) => of(ref.provider).find(ref),
    sign: (ticket, message) => promised(() => of(ticket.key.provider).sign(ticket, message)),
    destroy: async (ref) => of(ref.provider).destroy(ref),
    keks: {
      generate: async (wanted) => of(wanted.provider).keks.generate(wanted),
      wrap: async (kek, dek) => of(kek.provider).keks.wrap(kek, dek),
      unwrap: async (kek, wrapped) => of(kek.provider).keks.unwrap(kek, wrapped),
      destroy: async (kek) => of(kek.provider).keks.destroy(kek),
      halves: {
        generate: async (kek) => of("software").keks.halves.generate(kek),
        fingerprint: async (kek) => of("software").keks.halves.fingerprint(kek),
        wrap: async (kek, request) => of("software").keks.halves.wrap(kek, request),
        unwrap: async (kek, header, share) => of("software").keks.halves.unwrap(kek, header, share),
        destroy: async (kek) => of("software").keks.halves.destroy(kek),
      },
      use: async (versions) => {
        await Promise.all(all.map((keys) => keys.keks.use(versions)));
      },
      reseal: async (version) => {
        const changed = await Promise.all(all.map((keys) => keys.keks.reseal(version)));
        return changed.reduce((sum, each) => sum + each, 0);
      },
      handOut: async (address) => of("software").keks.handOut(address),
      takeOver: async (dataKeys) => of("software").keks.takeOver(dataKeys),
    },
    intake: {
      address: async () => of("software").intake.address(),
      take: async (wanted) => of("software").intake.take(wanted),
    },
    list: async (provider) => of(provider).list(provider),
    facts: async () => (await Promise.all(all.map((keys) => keys.facts()))).flat(),
    close: async () => {
      await Promise.all(all.map((keys) => keys.close()));
    },
  };
}
