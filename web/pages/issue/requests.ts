/** Certification requests for keys made in the page. Loaded when the first one is built. */

import {
  type JsonName,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from "@peculiar/x509";
import { encodePem } from "#core/asn1/pem.ts";
import { type KeyKind, keyKinds } from "./key-types.ts";
import type { RequestedName } from "./names.ts";
import type { PageKey } from "./page-key.ts";

/** In the order a name is written, outermost first. */
const subjectFields = ["C", "ST", "L", "O", "OU"] as const;

export type SubjectField = (typeof subjectFields)[number];

export interface Wanted {
  readonly commonName: string;
  readonly subject: Readonly<Partial<Record<SubjectField, string>>>;
  readonly names: readonly RequestedName[];
}

/** PEM of a request signed by the key. */
export async function requestFor(key: PageKey, wanted: Wanted): Promise<string> {
  const { signing }: KeyKind = keyKinds[key.type];
  const alternatives = wanted.names.map(({ kind, value }) => ({ type: general[kind], value }));
  const request = await Pkcs10CertificateRequestGenerator.create(
    {
      name: nameOf(wanted),
      keys: key.signer,
      signingAlgorithm: signing,
      extensions:
        alternatives.length === 0 ? [] : [new SubjectAlternativeNameExtension(alternatives)],
    },
    crypto,
  );
  return encodePem("CERTIFICATE REQUEST", new Uint8Array(request.rawData));
}

function nameOf({ commonName, subject }: Wanted): JsonName {
  const parts = subjectFields.flatMap((field) => {
    const value = subject[field]?.trim() ?? "";
    return value === "" ? [] : [{ [field]: [value] }];
  });
  return commonName === "" ? parts : parts.concat({ CN: [commonName] });
}

const general = { dns: "dns", ip: "ip", email: "email", uri: "url" } as const;
