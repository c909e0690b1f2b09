/**
 * What an alternative signature covers, taken apart and put together by asn1js: the check on our
 * own construction.
 */

import * as asn1js from "asn1js";

/** The octets, and the alternative values found in them (X.509 (2019) §9.8). */
export interface Alternative {
  readonly signed: Uint8Array;
  readonly algorithm: string;
  readonly signature: Uint8Array;
  /** SubjectPublicKeyInfo of the subject's second key. */
  readonly spki: Uint8Array | undefined;
}

/** Reads a certificate or a CRL; `signature` is the member left out beside altSignatureValue. */
export function alternativeIn(der: Uint8Array, kind: "certificate" | "crl"): Alternative {
  const tbs = childrenOf(read(der))[0];
  if (tbs === undefined) throw new Error("nothing was signed");
  const members = childrenOf(tbs);
  members.splice(kind === "certificate" ? 2 : 1, 1);
  const holder = members.at(-1);
  const list = holder && childrenOf(holder)[0];
  if (holder === undefined || list === undefined) throw new Error("there are no extensions");
  const values = new Map<string, Uint8Array>();
  const kept: asn1js.AsnType[] = [];
  for (const extension of childrenOf(list)) {
    const [type, value] = childrenOf(extension);
    if (!(type instanceof asn1js.ObjectIdentifier)) throw new Error("an extension has no type");
    const oid = type.valueBlock.toString();
    if (oid.startsWith("2.5.29.7") && value instanceof asn1js.OctetString) {
      values.set(oid, new Uint8Array(value.valueBlock.valueHexView));
    }
    if (oid !== "2.5.29.74") kept.push(extension);
  }
  const rest = new asn1js.Constructed({
    idBlock: { tagClass: 3, tagNumber: kind === "certificate" ? 3 : 0 },
    value: [new asn1js.Sequence({ value: kept })],
  });
  const signed = new asn1js.Sequence({ value: [...members.slice(0, -1), rest] }).toBER();
  return { signed: new Uint8Array(signed), ...namedValues(values) };
}

function namedValues(values: ReadonlyMap<string, Uint8Array>) {
  const algorithm = childrenOf(read(values.get("2.5.29.73") ?? new Uint8Array(0)));
  const signature = read(values.get("2.5.29.74") ?? new Uint8Array(0));
  const [type] = algorithm;
  if (!(type instanceof asn1js.ObjectIdentifier) || !(signature instanceof asn1js.BitString)) {
    throw new Error("the alternative values are not what they should be");
  }
  return {
    algorithm: type.valueBlock.toString(),
    signature: new Uint8Array(signature.valueBlock.valueHexView),
    spki: values.get("2.5.29.72"),
  };
}

function read(der: Uint8Array): asn1js.AsnType {
  const { offset, result } = asn1js.fromBER(der);
  if (offset === -1) throw new Error("not BER");
  return result;
}

function childrenOf(node: asn1js.AsnType): asn1js.AsnType[] {
  if (!(node instanceof asn1js.Constructed)) throw new Error("not constructed");
  return [...node.valueBlock.value];
}
