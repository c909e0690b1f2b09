/** The key-encryption key in JSON. */

import { refuse } from "#core/problems.ts";
import { integer, many, oneOf, optional, shape, words } from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Definition, guarded, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { Keks } from "#domain/envelopes/keks.ts";
import { type OpeningDeps, triedPrivateKeys, triedValues } from "#domain/envelopes/opening.ts";
import type { Place } from "#domain/envelopes/places.ts";
import type { KekRotation } from "#domain/envelopes/rotation.ts";
import type { Store } from "#domain/store.ts";
import { kekStatuses } from "#domain/envelopes/store.ts";
import type { OperationName } from "#operations";
import { count, providerText, time } from "./shapes.ts";

interface Deps extends OpeningDeps {
  readonly store: Store;
  readonly keys: OpeningDeps["keys"];
  readonly keks: Pick<Keks, "versions">;
  readonly rotation: Pick<KekRotation, "rotate">;
}

/** Handlers for `kek.show`, `kek.rotate` and `kek.try`. */
export function kekHandlers(deps: Deps) {
  const { store, keys, keks, rotation } = deps;
  return {
    "kek.try": tryVersion(deps),
    "kek.show": operation({
      summary: "Versions of the key-encryption key, newest first, and how many data keys it wraps.",
      target: thePlatform,
      output: kekShape,
      refuses: ["feature_disabled", "key_unavailable"],
      run: async () => {
        const versions = await keks.versions();
        const active = versions.find(({ status }) => status === "active");
        if (active === undefined) throw refuse("feature_disabled", { feature: "kek" });
        const values = await store.read.envelopes.count();
        const enveloped = (await keys.list("software")).filter(
          ({ kekVersion }) => kekVersion !== undefined,
        );
        return {
          kek_label: active.family,
          provider: active.key.provider,
          version: active.version,
          versions: versions.map(({ version, status, createdAt }) => ({
            version,
            status,
            created_at: timestamp(createdAt),
          })),
          wrapped_keys: values + enveloped.length,
        };
      },
    }),
    "kek.rotate": guarded({
      summary:
        "Make a new key-encryption key, wrap every data key with it, and retire the old one.",
      target: thePlatform,
      output: kekRotationShape,
      refuses: ["operation_running", "not_supported", "key_unavailable"],
      parks: async () => ({
        resourceKey: "kek",
        resourceName: "key-encryption key",
        details: {},
        summary: "Make a new key-encryption key and retire the old one.",
        check: async () => {},
      }),
      run: async ({ origin }) => {
        const { family, oldVersion, newVersion, rewrapped } = await rotation.rotate(origin);
        return {
          kek_label: family,
          old_version: oldVersion,
          new_version: newVersion,
          rewrapped,
        };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

/** Private keys go with the first of the values. */
const tryVersion = (deps: Deps) =>
  operation({
    summary: "Tries whether what is sealed under a version opens, and tells nothing of it.",
    target: thePlatform,
    input: { version: integer(1, Number.MAX_SAFE_INTEGER), after: optional(words()) },
    output: triedShape,
    run: async ({ input: { version, after } }) => {
      // What is no place has none behind it.
      const values = await triedValues(deps, version, after as Place | undefined);
      const keys = after === undefined ? await triedPrivateKeys(deps, version) : none;
      const { shut, next } = values;
      return { tried: values.tried + keys.tried, shut, shut_keys: keys.shut, next };
    },
  });

const none = { tried: 0, shut: [] };
const triedShape = shape({
  tried: count,
  /** Places of values. */
  shut: many(words()),
  /** Labels. */
  shut_keys: many(words()),
  next: optional(words()),
});

const kekShape = shape({
  kek_label: words(),
  provider: providerText,
  version: count,
  versions: many(shape({ version: count, status: oneOf(kekStatuses), created_at: time })),
  wrapped_keys: count,
});
const kekRotationShape = shape({
  kek_label: words(),
  old_version: count,
  new_version: count,
  rewrapped: count,
});
