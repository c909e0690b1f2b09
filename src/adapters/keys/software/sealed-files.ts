/**
 * Small secrets in files sealed under the master key, one per secret, named by an id and bound to a
 * label.
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";

import { refuse } from "#core/problems.ts";
import type { LocalRef } from "#adapters/keys/signer/provider.ts";

import { createDurably, readSmall, removeDurably } from "./files.ts";
import type { MasterKey } from "./master-key.ts";
import { seal, unseal } from "./seal.ts";

/** The key store they lie in. */
export interface SealedDeps {
  readonly directory: string;
  readonly storeId: string;
  readonly masterKey: Pick<MasterKey, "present" | "require">;
}

/**
 * The files of one kind: their suffix, and what their seal is bound to besides store, id and label.
 */
export interface SealedKind {
  readonly suffix: "kek" | "mlkem";
  readonly purpose: string;
  /** Octets of each secret. */
  readonly length: number;
}

/** All files of one kind in one key store. */
export class SealedFiles {
  readonly #deps: SealedDeps;
  readonly #kind: SealedKind;

  constructor(deps: SealedDeps, kind: SealedKind) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /** Seals a secret durably; false when there is a file of this id, which stays as it is. */
  add({ id, label }: LocalRef, secret: Uint8Array): boolean {
    const { masterKey } = this.#deps;
    const sealed = seal(masterKey.require(), this.#context(id, label), secret);
    const file = { version: 1, id, label, sealed: sealed.toString("base64") };
    return createDurably(this.#path(id), Buffer.from(`${JSON.stringify(file, undefined, 2)}\n`));
  }

  /** Id and label of every file, unopened. */
  list(): LocalRef[] {
    return sealedIds(this.#deps.directory, this.#kind.suffix).flatMap((id) => {
      const label = this.#read(id)?.label;
      return label === undefined ? [] : [{ id, label }];
    });
  }

  /**
   * Lends a secret to `work` and wipes it. Refuses `key_unavailable`, whatever keeps it from
   * opening.
   */
  async using<T>(ref: LocalRef, work: (secret: Buffer) => T | Promise<T>): Promise<T> {
    const file = this.#read(ref.id);
    const master = this.#deps.masterKey.present;
    if (file === undefined || master === undefined || file.label !== ref.label) throw absent();
    const secret = unseal(master, this.#context(ref.id, ref.label), file.sealed);
    if (secret?.length !== this.#kind.length) throw absent();
    try {
      return await work(secret);
    } finally {
      secret.fill(0);
    }
  }

  /** Destroys a secret for good. Refuses when it is not there under this label. */
  remove(ref: LocalRef): void {
    if (this.#read(ref.id)?.label !== ref.label) throw absent();
    removeDurably(this.#path(ref.id));
  }

  #read(id: string) {
    if (!idForm.test(id)) return undefined;
    return parseFile(readSmall(this.#path(id), fileBytesMax), id);
  }

  #path(id: string): string {
    return join(this.#deps.directory, `${id}.${this.#kind.suffix}`);
  }

  #context(id: string, label: string): string[] {
    return [this.#kind.purpose, this.#deps.storeId, id, label];
  }
}

/** The ids of the sealed files of one kind in a directory. */
export function sealedIds(directory: string, suffix: SealedKind["suffix"]): string[] {
  const ending = `.${suffix}`;
  const names = readdirSync(directory).filter((name) => name.endsWith(ending));
  return names.map((name) => name.slice(0, -ending.length)).filter((id) => idForm.test(id));
}

function parseFile(octets: Buffer | undefined, id: string) {
  if (octets === undefined) return undefined;
  try {
    // Every member is checked below.
    const file = JSON.parse(octets.toString("utf8")) as Record<string, unknown>;
    const { version, id: claimed, label, sealed } = file;
    if (version !== 1 || claimed !== id) return undefined;
    if (typeof label !== "string" || typeof sealed !== "string") return undefined;
    return { label, sealed: Buffer.from(sealed, "base64") };
  } catch {
    return undefined; // Not JSON: a damaged file is an absent secret.
  }
}

const absent = () => refuse("key_unavailable", { retry_after: 2 });

const idForm = /^[0-9a-f]{40}$/;
const fileBytesMax = 4096;
