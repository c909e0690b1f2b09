/**
 * The KEK versions under which private keys are sealed: those in sealed files here, those on a
 * token elsewhere.
 */

import { randomBytes } from "node:crypto";

import { type EnvelopeHeader, isHybrid, type WrappedDek } from "#core/envelope.ts";
import { refuse } from "#core/problems.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { KekInUse } from "#domain/keys.ts";
import { readWrapped, wrappedBody } from "#adapters/keys/requests.ts";
import { boxFor, Mailbox } from "#adapters/keys/signer/hand-over.ts";
import type { ServerLink } from "#adapters/keys/signer/server-link.ts";

import type { SealedKeks } from "./keks.ts";
import type { SealedHalves } from "./ml-kem-halves.ts";

interface Deps {
  readonly keks: Pick<SealedKeks, "wrap" | "unwrap">;
  readonly halves: Pick<SealedHalves, "wrap" | "unwrap">;
  readonly link: Pick<ServerLink, "request" | "tally">;
}

/** The versions there are, as the server last told. */
export class KekRing {
  readonly #deps: Deps;
  #versions: readonly KekInUse[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  use(versions: readonly KekInUse[]): void {
    this.#versions = versions;
  }

  /** The version that seals; undefined until the server has told. */
  get active(): KekInUse | undefined {
    return this.#versions.find(({ status }) => status === "active");
  }

  /** A data key under one version. Refuses `key_unavailable`. */
  async wrap(kek: KekInUse, dek: Uint8Array): Promise<EnvelopeHeader> {
    const { key, family, version } = kek;
    return await this.#counted("encrypt", key, async () => {
      if (kek.hybrid === true) return await this.#wrapUnderBoth(kek, dek);
      return { kek: family, kekVersion: version, ...(await this.#wrapByKek(key, dek)) };
    });
  }

  /**
   * The data key behind a header; one refusal for an unknown or retired version and for altered
   * octets (KEY-8).
   */
  async unwrap(header: EnvelopeHeader): Promise<Uint8Array> {
    const { key } = this.#versionOf(header) ?? {};
    return await this.#counted("decrypt", key, async () => {
      if (key === undefined) throw unavailable();
      if (!isHybrid(header)) return await this.#unwrapByKek(key, header);
      const { wrap, pqc } = header;
      const share = await this.#unwrapByKek(key, { wrap, wrappedDek: pqc.wrappedShare });
      try {
        return await this.#deps.halves.unwrap(key, header, share, "private key");
      } finally {
        share.fill(0);
      }
    });
  }

  async #wrapUnderBoth(kek: KekInUse, dek: Uint8Array): Promise<EnvelopeHeader> {
    const { key, family, version } = kek;
    const share = randomBytes(shareBytes);
    try {
      const wrappedShare = await this.#wrapByKek(key, share);
      const request = { family, version, dek, share, wrappedShare };
      return await this.#deps.halves.wrap(key, request, "private key");
    } finally {
      share.fill(0);
    }
  }

  #wrapByKek(key: KeyRef, secret: Uint8Array): Promise<WrappedDek> {
    if (key.provider !== "software") return this.#wrapElsewhere(key, secret);
    return this.#deps.keks.wrap(key, secret, "private key");
  }

  #unwrapByKek(key: KeyRef, wrapped: WrappedDek): Promise<Uint8Array> {
    if (key.provider !== "software") return this.#unwrapElsewhere(key, wrapped);
    return this.#deps.keks.unwrap(key, wrapped, "private key");
  }

  /** True while the version a header names still opens. */
  opens(header: EnvelopeHeader): boolean {
    return this.#versionOf(header) !== undefined;
  }

  #versionOf({ kek, kekVersion }: EnvelopeHeader): KekInUse | undefined {
    return this.#versions.find(({ version, family }) => version === kekVersion && family === kek);
  }

  async #unwrapElsewhere(key: KeyRef, wrapped: WrappedDek): Promise<Uint8Array> {
    const mailbox = new Mailbox("hand-over");
    const address = mailbox.address.toBase64();
    const asked = {
      operation: "kek.hand_out",
      key,
      wrapped: wrappedBody(wrapped),
      address,
    } as const;
    return mailbox.open(Uint8Array.fromBase64(String(await this.#deps.link.request(asked))));
  }

  async #wrapElsewhere(key: KeyRef, dek: Uint8Array): Promise<WrappedDek> {
    const { link } = this.#deps;
    const address = String(await link.request({ operation: "kek.address", key }));
    const box = boxFor(Uint8Array.fromBase64(address), dek, "hand-over").toBase64();
    return readWrapped(await link.request({ operation: "kek.take_in", key, box }));
  }

  async #counted<T>(
    operation: "encrypt" | "decrypt",
    key: KeyRef | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    let succeeded = false;
    try {
      const result = await work();
      succeeded = true;
      return result;
    } finally {
      this.#deps.link.tally({ key, operation, succeeded });
    }
  }
}

const shareBytes = 32;
const unavailable = () => refuse("key_unavailable", { retry_after: 2 });
