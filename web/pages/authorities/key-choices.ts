/** Which keys can be chosen for a CA, as the table of key types and the key provider say. */

import type { Answers } from "#api/answers.ts";
import { isForRootsOnly, isPostQuantum, type KeyType, keyTypes } from "#core/x509/algorithms.ts";
import type { Choice } from "#web/ui/fields.tsx";
import type { Ca } from "./ca.ts";
import type { TypedCa } from "./ca-form.ts";

/** What is known of the provider; undefined until it has answered, or where one may not ask. */
export type Provider = Answers["hsm.info"] | undefined;

/** The algorithms a CA below this one, or a root, may have. */
export function algorithmChoices(parent: Ca | undefined): readonly Choice[] {
  const hybrid = parent === undefined || parent.algorithm === "hybrid";
  return [
    { value: "classical", label: "Classical" },
    { value: "pqc", label: "Post-quantum" },
    {
      value: "hybrid",
      label: hybrid ? "Hybrid: both, each signing" : "Hybrid (the issuer has no second key)",
      disabled: !hybrid,
    },
  ];
}

/** The types of the first key. */
export function keyTypeChoices(
  algorithm: TypedCa["algorithm"],
  { root, provider }: { readonly root: boolean; readonly provider: Provider },
): readonly Choice[] {
  return typesOf(algorithm, root).map((value) => {
    const can = algorithm === "pqc" || provider === undefined || provider.key_types.includes(value);
    return can
      ? { value, label: value }
      : { value, label: `${value} (the key provider cannot make it)`, disabled: true };
  });
}

/** The types of the second key of a hybrid CA. */
export const alternativeChoices = (): readonly Choice[] =>
  all.filter((type) => keyTypes[type][0] === "ml-dsa").map((value) => ({ value, label: value }));

/** The key type to begin with when the algorithm is chosen. */
export const firstKeyType = (algorithm: TypedCa["algorithm"]): KeyType =>
  algorithm === "pqc" ? "ml-dsa-65" : "ecdsa-p384";

/** Where the keys will be, in a sentence. */
export function keyPlaceWords(algorithm: TypedCa["algorithm"], provider: Provider): string {
  const first = provider?.roles.ca === "pkcs11" ? "in the HSM" : "in software and sealed";
  switch (algorithm) {
    case "classical":
      return `The key is made ${first}.`;
    case "pqc":
      return "The key is made in software and sealed: no token of today holds post-quantum keys.";
    case "hybrid":
      return `The first key is made ${first}, the second in software in any case.`;
    default:
      return algorithm satisfies never;
  }
}

function typesOf(algorithm: TypedCa["algorithm"], root: boolean): readonly KeyType[] {
  if (algorithm !== "pqc") return all.filter((type) => !isPostQuantum(type));
  return all.filter((type) => isPostQuantum(type) && (root || !isForRootsOnly(type)));
}

const all = Object.keys(keyTypes) as readonly KeyType[]; // Keys of the table.
