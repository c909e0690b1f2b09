/** What the main thread of a signer and its workers say to each other. */

import type { KeyType, SignatureName } from "#core/x509/algorithms.ts";
import type { WrappedDek } from "#core/envelope.ts";
import type { KekHandle, KeyHandle, ListedKey } from "#domain/keys.ts";
import type { RefusalBody, RestartCause } from "#adapters/keys/requests.ts";
import type { DekUse, LocalRef } from "#adapters/keys/signer/provider.ts";

/** What a worker is started with; the login is the process's, so no worker ever knows the PIN. */
export interface WorkerStart {
  readonly module_path: string;
  readonly slot: Uint8Array;
  readonly serial: string;
}

export type Work =
  | {
      readonly operation: "sign";
      readonly ref: LocalRef;
      readonly algorithm: SignatureName;
      readonly message: Uint8Array;
    }
  | { readonly operation: "generate"; readonly label: string; readonly keyType: KeyType }
  | { readonly operation: "list" }
  | { readonly operation: "find"; readonly ref: LocalRef }
  | { readonly operation: "destroy"; readonly ref: LocalRef }
  | { readonly operation: "kek.generate"; readonly label: string }
  | {
      readonly operation: "kek.wrap";
      readonly ref: LocalRef;
      readonly dek: Uint8Array;
      readonly use: DekUse;
    }
  | {
      readonly operation: "kek.unwrap";
      readonly ref: LocalRef;
      readonly wrapped: WrappedDek;
      readonly use: DekUse;
    }
  | { readonly operation: "kek.destroy"; readonly ref: LocalRef };

export type Outcome =
  | { readonly status: "signed"; readonly signature: Uint8Array; readonly elapsedMs: number }
  | { readonly status: "found"; readonly keyHandle: KeyHandle }
  | { readonly status: "kek"; readonly kekHandle: KekHandle }
  | { readonly status: "wrapped"; readonly wrapped: WrappedDek }
  | { readonly status: "unwrapped"; readonly dek: Uint8Array }
  | { readonly status: "listed"; readonly keys: readonly ListedKey[] }
  | { readonly status: "done" }
  | { readonly status: "refused"; readonly refusal: RefusalBody; readonly note: string }
  | { readonly status: "restart"; readonly cause: RestartCause; readonly reason: string }
  | { readonly status: "fault"; readonly reason: string };

/** What a worker is handed to end it; nothing is handed over after it. */
export const noMoreWork = "no more work";

/**
 * One message from a worker: it is ready, it cannot be, or here are the outcomes in the order of
 * the work.
 */
export type WorkerSays =
  | { readonly says: "ready" }
  | { readonly says: "failed"; readonly reason: string }
  | { readonly says: "done"; readonly outcomes: readonly Outcome[]; readonly elapsedMs: number };
