/** What keys a token holds, and whether it lets them out: read back from it, never remembered. */

import type { KeyType } from "#core/x509/algorithms.ts";
import type { ListedKey } from "#domain/keys.ts";

import { cka, ckk, ckoPrivate, ckoSecret } from "./ck.ts";
import { findObjects } from "./objects.ts";
import type { Handle, P11 } from "./module.ts";
import { curveParameters, edwardsNames, readAttribute } from "./public-half.ts";

/**
 * Private and secret keys, at most 10,000 of each. An attribute the token does not show counts as
 * the worse value.
 */
export function listHsmTokenKeys(p11: P11, tokenSession: Handle): ListedKey[] {
  return [ckoPrivate, ckoSecret].flatMap((kind) => {
    const template = [
      { type: cka.class, value: kind },
      { type: cka.token, value: true },
    ];
    return findObjects(p11, tokenSession, template, listedMax).map((key) =>
      listed(p11, tokenSession, key),
    );
  });
}

function listed(p11: P11, tokenSession: Handle, key: Handle): ListedKey {
  const read = (type: number) => readAttribute(p11, tokenSession, key, type);
  return {
    provider: "pkcs11",
    label: read(cka.label)?.toString("utf8") ?? "",
    id: read(cka.id)?.toString("hex") ?? "",
    keyType: keyTypeOf(read),
    extractable: read(cka.extractable)?.[0] !== 0,
    sensitive: read(cka.sensitive)?.[0] === 1,
  };
}

function keyTypeOf(read: (type: number) => Buffer | undefined): string {
  const kind = read(cka.keyType)?.readUInt32LE(0);
  if (kind === ckk.rsa) {
    // Some tokens pad with a zero octet.
    const bits =
      (read(cka.modulus)
        ?.toString("hex")
        .replace(/^(00)+/, "").length ?? 0) * 4;
    return bits === 0 ? "rsa" : `rsa-${bits}`;
  }
  if (kind === ckk.aes) {
    const octets = read(cka.valueLength)?.readUInt32LE(0);
    return octets === undefined ? "aes" : `aes-${octets * 8}`;
  }
  const parameters = read(cka.ecParams)?.toString("hex");
  if (parameters !== undefined && edwardsNames.has(parameters)) return "ed25519";
  const curves = Object.entries(curveParameters) as [KeyType, string][]; // The table's own entries.
  return (
    curves.find(([, known]) => known === parameters)?.[0] ?? (kind === ckk.ec ? "ec" : "other")
  );
}

const listedMax = 10_000;
