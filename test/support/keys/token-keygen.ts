/**
 * Makes one key on a token with the bare module, without any of pkid's checks; settings come on
 * standard input.
 */

import { cka, ckf, ckk, ckm, ckuUser } from "#adapters/keys/pkcs11/ck.ts";
import { loadModule } from "#adapters/keys/pkcs11/module.ts";
import { curveParameters, readPublicHalf } from "#adapters/keys/pkcs11/public-half.ts";
import type { Pkcs11Settings } from "#adapters/keys/settings.ts";
import { resolveSecret } from "#adapters/keys/signer/secret.ts";
import { type KeyType, keyTypes } from "#core/x509/algorithms.ts";
import { keyIdOf } from "#core/x509/public-keys.ts";

const wanted: { settings: Pkcs11Settings; label: string; keyType: KeyType } =
  await Bun.stdin.json();
const { settings, label, keyType } = wanted;
const p11 = loadModule(settings.module_path);
const { libraryParameters = "" } = settings;
p11.C_Initialize({ flags: ckf.osLockingOk, libraryParameters: `${libraryParameters} ` });
const slot = p11
  .C_GetSlotList(true)
  .find((each) => p11.C_GetTokenInfo(each).label.trim() === settings.token_label);
if (slot === undefined) throw new Error("the token is there");
const tokenSession = p11.C_OpenSession(slot, ckf.serialSession | ckf.rwSession);
p11.C_Login(tokenSession, ckuUser, resolveSecret(settings.pin, "PIN"));

const [family, bits] = keyTypes[keyType];
const rsa = family === "rsa";
const names = [
  { type: cka.token, value: true },
  { type: cka.label, value: label },
  { type: cka.id, value: Buffer.from(crypto.randomUUID()) },
  { type: cka.keyType, value: rsa ? ckk.rsa : ckk.ec },
];
const size = rsa
  ? [
      { type: cka.modulusBits, value: bits },
      { type: cka.publicExponent, value: Buffer.from([1, 0, 1]) },
    ]
  : [{ type: cka.ecParams, value: Buffer.from(curveParameters[keyType] ?? "", "hex") }];
const pair = p11.C_GenerateKeyPair(
  tokenSession,
  { mechanism: rsa ? ckm.rsaKeyPairGen : ckm.ecKeyPairGen },
  [...names, { type: cka.verify, value: true }, ...size],
  [
    ...names,
    { type: cka.private, value: true },
    { type: cka.sensitive, value: true },
    { type: cka.sign, value: true },
  ],
);
const half = readPublicHalf(p11, tokenSession, pair.publicKey);
if (half === undefined) throw new Error("the public half is readable");
const id = keyIdOf(half.spki);
for (const object of [pair.privateKey, pair.publicKey]) {
  p11.C_SetAttributeValue(tokenSession, object, [{ type: cka.id, value: Buffer.from(id, "hex") }]);
}
const spki = Buffer.from(half.spki).toString("base64");
const deviceSerial = p11.C_GetTokenInfo(slot).serialNumber.trim();
const ref = { provider: "pkcs11", label, id };
console.log(JSON.stringify({ ref, keyType: half.keyType, spki, deviceSerial }));
p11.C_CloseSession(tokenSession);
