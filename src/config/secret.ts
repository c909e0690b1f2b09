/** Secrets: a value that cannot be printed, and the places it may come from. */

/** A secret whose text, JSON and debug forms are `***` (SEC-1); only `reveal` gives the value. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself; the caller hands it to its destination and to nothing that prints. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  [Symbol.toPrimitive](): string {
    return hidden;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return hidden;
  }
}

/** What stands in place of a secret wherever it would be shown. */
export const hidden = "***";

/** Where a secret is fetched from at start or on first use; a further kind is one more member here and in `secretSource`. */
export type SecretSource =
  | { readonly type: "env"; readonly env: { readonly var: string } }
  | {
      readonly type: "file";
      readonly file: { readonly path: string; readonly allow_insecure_perms: boolean };
    };

/** A secret as configured: given in place, or by a source, which wins over a value in place (SEC-2). */
export type SecretSetting =
  | { readonly from: "value"; readonly value: Secret }
  | { readonly from: "source"; readonly source: SecretSource };
