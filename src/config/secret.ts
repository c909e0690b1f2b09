/** Secrets: a value that cannot be printed, and the places it may come from. */

import { isIP } from "node:net";

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

/** A place on this machine. */
export type LocalSource =
  | { readonly type: "env"; readonly env: { readonly var: string } }
  | {
      readonly type: "file";
      readonly file: { readonly path: string; readonly allow_insecure_perms: boolean };
    };

/** A server that is asked over the network. */
export type RemoteSource =
  | { readonly type: "vault"; readonly vault: VaultSource }
  | { readonly type: "aws"; readonly aws: AwsSource }
  | { readonly type: "azure"; readonly azure: AzureSource };

/** A field of a key-value secret in HashiCorp Vault or what speaks its protocol. */
export interface VaultSource {
  readonly address: string;
  readonly path: string;
  readonly field: string;
  readonly kv_version: number;
  readonly mount: string;
  readonly namespace?: string | undefined;
  readonly auth_method: "token" | "approle";
  /** Unset, the variable VAULT_TOKEN has it. */
  readonly token?: LocalSource | undefined;
  /** Unset, the variable VAULT_ROLE_ID has it. */
  readonly role_id?: string | undefined;
  /** Unset, the variable VAULT_SECRET_ID has it. */
  readonly secret_id?: LocalSource | undefined;
  readonly ca_file?: string | undefined;
  readonly timeout_seconds: number;
}

/** A secret of AWS Secrets Manager, or a member of one that is JSON. */
export interface AwsSource {
  readonly region?: string | undefined;
  readonly secret_id: string;
  readonly field?: string | undefined;
}

/** A secret of an Azure key vault, or a member of one that is JSON. */
export interface AzureSource {
  readonly vault_url: string;
  readonly name: string;
  readonly version?: string | undefined;
  readonly field?: string | undefined;
}

/**
 * Where a secret is fetched from, at start or on first use; `config/sources.ts` reads all kinds.
 */
export type SecretSource = LocalSource | RemoteSource;

/** True for a source on this machine, which answers at once. */
export const isLocal = (source: SecretSource): source is LocalSource =>
  source.type === "env" || source.type === "file";

/** True for an address over TLS, or in clear to this very machine: tokens and secrets go there. */
export function isSafeAddress({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const loopback = isIP(host) === 4 ? host.startsWith("127.") : host === "::1";
  return protocol === "http:" && (loopback || host === "localhost");
}

/**
 * A secret as configured: given in place, or by a source, which wins over a value in place (SEC-2).
 */
export type SecretSetting =
  | { readonly from: "value"; readonly value: Secret }
  | { readonly from: "source"; readonly source: SecretSource };

/** A secret that is set, under its key. */
export interface SetSecret {
  readonly path: string;
  readonly setting: SecretSetting;
}

/**
 * What opens configured secrets. Every method throws `SecretUnavailable`, which names key and
 * source.
 */
export interface Secrets {
  /** The secret in clear, fetched now and remembered by nobody; undefined when none is set. */
  fresh(key: string, setting: SecretSetting | undefined): Promise<string | undefined>;
  /** The same, for what is needed again and again: at most a minute old (SEC-3). */
  recent(key: string, setting: SecretSetting | undefined): Promise<string | undefined>;
}

/** A secret that cannot be had; the message is a sentence that names the source, never a value. */
export class SecretUnavailable extends Error {
  override readonly name = "SecretUnavailable";
}
