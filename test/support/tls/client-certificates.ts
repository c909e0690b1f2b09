/** CAs outside any instance, and the client certificates they make, right and wrong. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { encodePem } from "#core/asn1/pem.ts";
import { serialFromBytes } from "#core/ids.ts";
import { instant, type Instant } from "#core/time.ts";
import {
  basicConstraints,
  type Extension,
  extendedKeyUsage,
  keyUsage,
  subjectAltName,
} from "#core/x509/extensions.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";
import { certify, makeKey, type TestKey } from "#test/support/encodings/x509.ts";

/** What a certificate shall say; a client's for a year unless told otherwise. */
export interface Options {
  readonly subject?: readonly NameAttribute[];
  readonly sans?: readonly GeneralName[];
  /** Extended key usages; none leaves the extension out. */
  readonly usages?: readonly string[];
  readonly notBefore?: Instant;
  readonly notAfter?: Instant;
  readonly more?: readonly Extension[];
}

/** A certificate with its key and what stands above it, as a client has them. */
export interface ClientCertificate {
  /** DER, its own first. */
  readonly chain: readonly Uint8Array[];
  readonly key: TestKey;
}

/** A CA; its clients present its own certificate too, unless it is a root. */
export class OutsideCa {
  private constructor(
    readonly der: Uint8Array,
    readonly name: readonly NameAttribute[],
    readonly key: TestKey,
    /** Certificates between its clients and the root. */
    readonly above: readonly Uint8Array[],
  ) {}

  /** A self-signed one. */
  static root(name: string, request: Options = {}): OutsideCa {
    const subject = [{ type: "CN", value: name }];
    const key = makeKey("ecdsa-p256");
    const der = made(subject, key, subject, key.spki, { ...request, more: caExtensions() });
    return new OutsideCa(der, subject, key, []);
  }

  /** One below this. */
  below(name: string, request: Options = {}): OutsideCa {
    const subject = [{ type: "CN", value: name }];
    const key = makeKey("ecdsa-p256");
    const more = request.more ?? caExtensions();
    const der = made(this.name, this.key, subject, key.spki, { ...request, more });
    return new OutsideCa(der, subject, key, [der, ...this.above]);
  }

  /** Another certificate for the name and key of a CA below this. */
  again({ name, key }: OutsideCa, request: Options): Uint8Array {
    return made(this.name, this.key, name, key.spki, { ...request, more: caExtensions() });
  }

  client(request: Options = {}): ClientCertificate {
    const key = makeKey("ecdsa-p256");
    const subject = request.subject ?? [{ type: "CN", value: "robot" }];
    const usages = request.usages ?? ["clientAuth"];
    const more = [
      keyUsage(["digitalSignature"]),
      ...(usages.length === 0 ? [] : [extendedKeyUsage(usages)]),
      ...(request.sans === undefined ? [] : [subjectAltName(request.sans, subject.length === 0)]),
      ...(request.more ?? []),
    ];
    const der = made(this.name, this.key, subject, key.spki, { ...request, more });
    return { key, chain: [der, ...this.above] };
  }

  get pem(): string {
    return encodePem("CERTIFICATE", this.der);
  }
}

/** Files curl, openssl and the command line read, with the whole chain. */
export function savedClient(folder: string, name: string, { chain, key }: ClientCertificate) {
  const cert = join(folder, `${name}.pem`);
  const keyFile = join(folder, `${name}.key`);
  writeFileSync(cert, chain.map((der) => encodePem("CERTIFICATE", der)).join(""));
  writeFileSync(keyFile, key.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  return { cert, key: keyFile };
}

function made(
  issuer: readonly NameAttribute[],
  signer: TestKey,
  subject: readonly NameAttribute[],
  spki: Uint8Array,
  { notBefore, notAfter, more = [] }: Options,
): Uint8Array {
  const now = Date.now();
  return certify(signer, {
    signature: "ecdsa-sha256",
    spki,
    extensions: more,
    issuer: encodeName(issuer).der,
    subject: encodeName(subject).der,
    serial: serialFromBytes(crypto.getRandomValues(new Uint8Array(15))),
    notBefore: notBefore ?? instant(now - day),
    notAfter: notAfter ?? instant(now + 365 * day),
  });
}

const caExtensions = () => [
  basicConstraints(true, undefined),
  keyUsage(["keyCertSign", "cRLSign"]),
];

const day = 86_400_000;
