/**
 * The private keys made in this tab. They outlive the page that made them, for a certificate may
 * come later than one goes elsewhere, and nothing else of the browser ever has them.
 */

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
// Of a page, and by type alone: what makes keys is loaded with that page.
import type { PageKey } from "#web/pages/issue/page-key.ts";

export interface KeptKey {
  readonly key: PageKey;
  /** What files are named after. */
  readonly name: string;
  /** PEM of the request it has signed. */
  readonly request: string;
  /** Somebody has it in a file. */
  readonly saved: boolean;
}

/** Lives as long as the person is logged in here; its listeners are told of every change. */
export class Keyring {
  readonly #kept = new Map<string, KeptKey>();
  readonly #listeners = new Set<() => void>();

  /** Keeps a key whose request is sent: from now on leaving loses something. */
  keep(key: PageKey, name: string, request: string): void {
    const saved = this.find(key.fingerprint)?.saved ?? false;
    this.#kept.set(key.fingerprint, { key, name, request, saved });
    this.#tell();
  }

  /** By the fingerprint of the public key, as answers have it. */
  find(fingerprint: string | undefined): KeptKey | undefined {
    return fingerprint === undefined ? undefined : this.#kept.get(fingerprint);
  }

  saved(fingerprint: string): void {
    const kept = this.#kept.get(fingerprint);
    if (kept === undefined) return;
    this.#kept.set(fingerprint, { ...kept, saved: true });
    this.#tell();
  }

  forget(fingerprint: string): void {
    this.#kept.get(fingerprint)?.key.forget();
    this.#kept.delete(fingerprint);
    this.#tell();
  }

  /** Keys that would be lost for good. */
  get unsaved(): number {
    return [...this.#kept.values()].filter(({ saved }) => !saved).length;
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const KeyringContext = createContext<Keyring | undefined>(undefined);

/** The keys of this tab, for whoever is logged in; draws again when they change. */
export function useKeyring(): Keyring {
  const keyring = useContext(KeyringContext);
  if (keyring === undefined) throw new Error("nobody is logged in here");
  const [, setRound] = useState(0);
  useEffect(() => keyring.listen(() => setRound((round) => round + 1)), [keyring]);
  return keyring;
}

/** Has the browser ask before the tab goes and takes a key with it that nobody has saved. */
export function useLeaveWarning(keyring: Keyring): void {
  useEffect(() => {
    const leaving = (event: BeforeUnloadEvent) => {
      if (keyring.unsaved > 0) event.preventDefault();
    };
    addEventListener("beforeunload", leaving);
    return () => removeEventListener("beforeunload", leaving);
  }, [keyring]);
}

/**
 * Asks before such a key goes, or a secret that is shown once; true to go on. The question says
 * what is about to take them away.
 */
export function mayLose({ unsaved }: Keyring, secrets: number, question: string): boolean {
  const lost = [
    unsaved > 0 ? "A private key made here is saved nowhere. " : "",
    secrets > 0 ? "A secret that is shown this once is not kept yet. " : "",
  ].join("");
  return lost === "" || confirm(lost + question);
}
