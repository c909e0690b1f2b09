/**
 * What the key adapter is told: where keys live, how they are unlocked, how much may be under way
 * at once.
 */

import type { RemoteSource } from "#config/secret.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { KekInUse } from "#domain/keys.ts";

/**
 * Where a PIN or passphrase comes from; it is resolved inside the signer and nowhere else. A remote
 * one is fetched there first.
 */
export type SecretSource =
  | { readonly type: "value"; readonly value: string }
  | { readonly type: "env"; readonly name: string }
  | {
      readonly type: "file";
      readonly path: string;
      /** Accepts a file that group or others may read. */
      readonly allowInsecurePermissions?: boolean | undefined;
    }
  | KeptElsewhere;

/** A PIN or passphrase that a server keeps. */
export interface KeptElsewhere {
  readonly type: "remote";
  /** The configuration key, for messages. */
  readonly key: string;
  readonly source: RemoteSource;
  /** Variables the signer must have to fetch it. */
  readonly variables: readonly string[];
  /** Certificates trusted beside the system's, when the source names none of its own. */
  readonly caFile: string | undefined;
}

/** The sealed key files. */
export interface SoftwareSettings {
  readonly keystore_dir: string;
  readonly master_key_file: string;
  /** When set, the master key is derived from it (argon2id) and the file is not touched. */
  readonly passphrase?: SecretSource | undefined;
}

/**
 * A PKCS#11 module and the one token in it; the three token fields together must match exactly one.
 */
export interface Pkcs11Settings {
  readonly module_path: string;
  readonly token_label?: string | undefined;
  readonly token_serial?: string | undefined;
  readonly token_manufacturer?: string | undefined;
  readonly pin: SecretSource;
  /** Most operations on the device at once: one worker with one token session each. */
  readonly session_pool_size: number;
  readonly operation_timeout_seconds: number;
  /** Reserved text some modules want at C_Initialize (NSS softokn). */
  readonly libraryParameters?: string | undefined;
}

/** On what terms a signer may present a PIN (`pkcs11/refused-pins.ts`). */
export interface Presenting {
  /** The file in which signers keep which PINs were refused. */
  readonly record: string;
  /** Names the server, the same for all signers it starts one after the other. */
  readonly run: string;
  /**
   * True when a person wants it tried: at a start and by SIGHUP, not when one signer follows
   * another.
   */
  readonly asked: boolean;
  /**
   * True when nothing is to be changed by having looked: no PIN that was refused is presented, and
   * none to the last try.
   */
  readonly lookingOnly: boolean;
}

/** What a signer is told first. */
export interface SignerOrders {
  readonly configuration: SignerConfiguration;
  readonly presenting: Presenting;
}

/** Limits of the guard. */
export interface GuardSettings {
  readonly max_in_flight: number;
  readonly max_queue: number;
  /** How long an operation may wait for its turn; 0 is as long as it takes. */
  readonly acquire_timeout_ms: number;
}

/** Everything `openKeys` needs. */
export interface KeySettings {
  readonly software: SoftwareSettings;
  readonly pkcs11?: Pkcs11Settings | undefined;
  /**
   * Directory of mode 0700 on a file system that allows execution: the PKCS#11 addon is unpacked
   * there.
   */
  readonly privateDir: string;
  /** The limits in force, asked for at every operation; undefined takes the usual ones. */
  readonly guard?: (() => GuardSettings | undefined) | undefined;
  /** As in `Presenting`; undefined is false. */
  readonly lookingOnly?: boolean | undefined;
  /** How long the start waits for a device that is away (PRC-1); undefined is not at all. */
  readonly startPatienceMs?: number | undefined;
  /** Command that starts a signer; without it, this binary in its other role. */
  readonly signerCommand?: readonly string[] | undefined;
}

/**
 * What one signer process serves: exactly one provider, so that a fault of one never stops the
 * other.
 */
export type SignerConfiguration =
  | {
      readonly provider: "software";
      readonly software: SoftwareSettings;
      /** The KEK versions there are, as last told. */
      readonly keks: readonly KekInUse[];
    }
  | { readonly provider: "pkcs11"; readonly pkcs11: Pkcs11Settings };

/** Whom the adapter tells what it does. */
export interface KeyHooks {
  /**
   * One finished operation: `sign`, `generate`, `find`, `destroy`, `decrypt` (of a data key),
   * `public_key` (read to hold signatures against it), `ping`; `ok` or the code it was refused
   * with.
   */
  readonly measured?: (operation: KeyOperation, result: string, seconds: number) => void;
  /**
   * One data key wrapped (`encrypt`) or unwrapped (`decrypt`) for a software-held private key,
   * inside the signers.
   */
  readonly enveloped?: (operation: "encrypt" | "decrypt", succeeded: boolean) => void;
  /** One data key, of a value or of a private key, was unwrapped with this KEK. */
  readonly unwrapped?: (kek: KeyRef) => void;
  /** A fault for the log: a closed sentence without PINs, paths or labels, and facts about it. */
  readonly fault?: (sentence: string, facts: Readonly<Record<string, string | number>>) => void;
}

export type KeyOperation =
  | "sign"
  | "generate"
  | "find"
  | "destroy"
  | "decrypt"
  | "public_key"
  | "ping";
