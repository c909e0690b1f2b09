/** Where private keys are held and used; the domain never sees one. */

import type { KeyRole } from "#core/audit/ledger.ts";
import type { HybridHeader, WrappedDek } from "#core/envelope.ts";
import type { Octets } from "#core/crypto.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import type { SignTicket } from "#domain/signing/ticket.ts";
import type { KeyRef, ProviderName } from "./key-ref.ts";

/** A key as its provider holds it. */
export interface KeyHandle {
  readonly ref: KeyRef;
  readonly keyType: KeyType;
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
  /** Serial of the token, or `software:<key store id>`. */
  readonly deviceSerial: string;
}

/** A private or secret key as a provider lists it, whoever made it. */
export interface ListedKey extends KeyRef {
  /** A key type of pkid, else the kind in the provider's words, or `other`. */
  readonly keyType: string;
  /** True unless the provider says that it never leaves. */
  readonly extractable: boolean;
  /** True when the provider says that its value is never shown. */
  readonly sensitive: boolean;
  /**
   * Version of the KEK a software-held private key is sealed under; undefined for every other key.
   */
  readonly kekVersion?: number | undefined;
}

/** What a provider can say about itself. */
export interface ProviderFacts {
  readonly provider: ProviderName;
  readonly available: boolean;
  readonly deviceSerial: string;
  /** As a token calls itself. */
  readonly tokenLabel?: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly keyTypes: readonly KeyType[];
  /** A closed sentence without paths or labels, when not available. */
  readonly error?: string;
}

/** A key-encryption key as its provider made it. */
export interface KekHandle {
  readonly key: KeyRef;
  readonly keyType: "aes-256" | "rsa-3072" | "rsa-4096";
  /** SubjectPublicKeyInfo of an RSA key, DER. */
  readonly spki: Uint8Array | undefined;
  /** As of `KeyHandle`. */
  readonly deviceSerial: string;
}

/** A version of the KEK that still opens, and how envelopes name it. */
export interface KekInUse {
  readonly version: number;
  readonly family: string;
  /** One is active: it wraps. */
  readonly status: "active" | "retiring";
  readonly key: KeyRef;
  /** True when it wraps with its ML-KEM half as well (KEK-5). */
  readonly hybrid?: boolean;
}

/** A data key to be wrapped under a KEK version and its ML-KEM half. */
export interface HybridRequest {
  readonly family: string;
  readonly version: number;
  /** 32 octets, as is the share. */
  readonly dek: Uint8Array;
  readonly share: Uint8Array;
  /** The share as the KEK wrapped it. */
  readonly wrappedShare: WrappedDek;
}

/**
 * ML-KEM-1024 halves of KEK versions (KEK-5): always in the software key store, each named by its
 * KEK. Whatever keeps one from being used is `key_unavailable`. As with KEKs, what is wrapped here
 * is the data key of a value, never of a private key.
 */
export interface MlKemHalves {
  /** Makes one durably; gives its fingerprint. Refuses `already_exists` when the KEK has one. */
  generate(kek: KeyRef): Promise<string>;
  /** Lower hex SHA-256 of the SubjectPublicKeyInfo of one that opens. */
  fingerprint(kek: KeyRef): Promise<string>;
  /** The whole header over the data key. */
  wrap(kek: KeyRef, request: HybridRequest): Promise<HybridHeader>;
  /** The data key, with the share as the KEK unwrapped it. */
  unwrap(kek: KeyRef, header: HybridHeader, share: Uint8Array): Promise<Uint8Array>;
  /** Destroys one for good; used for those that never wrapped. */
  destroy(kek: KeyRef): Promise<void>;
}

/** The data key of one private key, in a box that only whoever has the address opens. */
export interface BoxedDataKey {
  /** Of the private key. */
  readonly id: string;
  readonly box: Uint8Array;
}

/**
 * Key-encryption keys, used for nothing but wrapping data keys (KEK-3). Whatever keeps a data key
 * from being unwrapped is `key_unavailable`, so that nobody learns which (KEY-8). Data keys of
 * software-held private keys are wrapped for that use and by the signers among themselves: `unwrap`
 * never opens one.
 */
export interface KekKeys {
  /**
   * Makes one: AES-256, or RSA where the token has no AES-GCM. On a token private, sensitive,
   * non-extractable, for nothing but encrypting and decrypting, proven by trying. Refuses
   * `already_exists` for a label in use, `not_supported` when the token can do neither.
   */
  generate(wanted: { readonly provider: ProviderName; readonly label: string }): Promise<KekHandle>;
  /** Wraps a data key of 32 octets. */
  wrap(kek: KeyRef, dek: Uint8Array): Promise<WrappedDek>;
  /** The data key. */
  unwrap(kek: KeyRef, wrapped: WrappedDek): Promise<Uint8Array>;
  /**
   * Destroys one for good; used for keys that never wrapped. One that stays is named in the log.
   */
  destroy(kek: KeyRef): Promise<void>;
  readonly halves: MlKemHalves;
  /**
   * Tells which versions there are, all of them; an earlier list is forgotten. Software-held
   * private keys are sealed under the active one from now on, and open under any of them; without
   * an active one none is made.
   */
  use(versions: readonly KekInUse[]): Promise<void>;
  /**
   * Brings every software-held private key under `version`, which must be the active one: another
   * header over the same ciphertext, or a first envelope for a key sealed before there were any.
   * Gives how many it changed; running it again, also after a crash, changes what is left. Refuses
   * `key_unavailable` when one is left that does not open.
   */
  reseal(version: number): Promise<number>;
  /**
   * The data keys of software-held private keys, for an archive that opens without the KEK (BAK-1):
   * each in a box for `address`, an X25519 public key of 32 octets, so that whoever asks carries
   * what it cannot open. A private key that does not open any more has none.
   */
  handOut(address: Uint8Array): Promise<readonly BoxedDataKey[]>;
  /**
   * Brings software-held private keys under the active version by data keys of 32 octets, given by
   * the ids of the private keys: another header over the same ciphertext, whatever sealed it
   * before. A data key that fits no private key changes nothing. Refuses `key_unavailable` without
   * an active version.
   */
  takeOver(dataKeys: ReadonlyMap<string, Uint8Array>): Promise<void>;
}

/**
 * The way in for private keys of another CA (IMP-2). Whoever brings one seals it in a box for the
 * process that is going to hold it, so nobody in between can read it.
 */
export interface KeyIntake {
  /** Where a box has to go: an X25519 public key, 32 octets, that lives as long as its process. */
  address(): Promise<Uint8Array>;
  /**
   * Seals the PKCS#8 in the box as the store seals keys of its own, after a signature has shown
   * that both halves belong together. A key that is there under this label already is given as it
   * is. Refuses `bad_key` for a box or content that cannot be read, `key_type_unsupported`, and
   * `already_exists` (`key`) for a key that has another label here.
   */
  take(wanted: { readonly label: string; readonly box: Uint8Array }): Promise<KeyHandle>;
}

/**
 * The port. Every method refuses with `key_unavailable` when the provider does not answer,
 * `overloaded` when the guard sheds, `key_type_unsupported` when the key cannot be made here. A
 * missing key is never made anew.
 */
export interface Keys {
  /**
   * Makes a key: on a token private, sensitive, non-extractable, sign-only; proven by trying to
   * extract it.
   */
  generate(wanted: {
    provider: ProviderName;
    label: string;
    keyType: KeyType;
    role: KeyRole;
  }): Promise<KeyHandle>;
  /** The key as the provider holds it now; refuses when absent or ambiguous. */
  find(ref: KeyRef): Promise<KeyHandle>;
  /**
   * Signs `message`, whose SHA-256 is `ticket.digest`; gives the value as X.509 carries it (ECDSA
   * in DER). What it gives verifies with the public key that `ticket.key` names by its digest; of
   * OCSP answers that is seen to by sample (KEY-4). A ticket counts once.
   */
  sign(ticket: SignTicket, message: Octets): Promise<Uint8Array>;
  /**
   * Destroys the key for good; used for keys that never signed. One that stays is named in the log.
   */
  destroy(ref: KeyRef): Promise<void>;
  readonly keks: KekKeys;
  readonly intake: KeyIntake;
  /** What a provider holds, at most 10,000 keys; `id` and `label` are as found and may be empty. */
  list(provider: ProviderName): Promise<readonly ListedKey[]>;
  /** Ends within 3 s; refuses nothing, tells everything. */
  facts(): Promise<readonly ProviderFacts[]>;
  close(): Promise<void>;
}
