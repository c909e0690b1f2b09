/** Tries to take a private key out of its token, by every way PKCS#11 offers. */

import { cka, ckk, ckm, ckoSecret } from "./ck.ts";
import type { Handle, P11, Template } from "./module.ts";

/** The ways that worked, as words that follow "the new key"; empty is what a good token gives. */
export function waysOut(p11: P11, tokenSession: Handle, key: Handle): string[] {
  return [
    ...readable(p11, tokenSession, key),
    ...changeable(p11, tokenSession, key),
    ...copyable(p11, tokenSession, key),
    ...wrappable(p11, tokenSession, key),
  ];
}

function readable(p11: P11, tokenSession: Handle, key: Handle): string[] {
  const open = [cka.value, cka.privateExponent].some((type) =>
    succeeds(() => {
      const value = p11.C_GetAttributeValue(tokenSession, key, [{ type }])[0]?.value;
      if (value === undefined || value.length === 0) throw new Error("nothing was read");
    }),
  );
  return open ? ["can be read in clear"] : [];
}

function changeable(p11: P11, tokenSession: Handle, key: Handle): string[] {
  const set = (type: number, value: boolean) =>
    succeeds(() => p11.C_SetAttributeValue(tokenSession, key, [{ type, value }]));
  return [
    ...(set(cka.extractable, true) ? ["can be made extractable"] : []),
    ...(set(cka.sensitive, false) ? ["can be made not sensitive"] : []),
  ];
}

function copyable(p11: P11, tokenSession: Handle, key: Handle): string[] {
  const changes: readonly Template[] = [
    [
      { type: cka.extractable, value: true },
      { type: cka.token, value: false },
    ],
    [
      { type: cka.sensitive, value: false },
      { type: cka.token, value: false },
    ],
  ];
  const copied = changes.some((change) =>
    succeeds(() =>
      p11.C_DestroyObject(tokenSession, p11.C_CopyObject(tokenSession, key, [...change])),
    ),
  );
  return copied ? ["can be copied into one that may leave"] : [];
}

function wrappable(p11: P11, tokenSession: Handle, key: Handle): string[] {
  const wrapping = wrappingKey(p11, tokenSession);
  // A token that makes no wrapping keys has none to wrap with.
  if (wrapping === undefined) return [];
  const iv = Buffer.alloc(16);
  const mechanisms = [
    { mechanism: ckm.aesKeyWrap },
    { mechanism: ckm.aesKeyWrapPad },
    { mechanism: ckm.aesCbcPad, parameter: iv },
  ];
  const wrapped = mechanisms.some((mechanism) =>
    succeeds(() =>
      p11.C_WrapKey(tokenSession, mechanism, wrapping, key, Buffer.alloc(wrappedBytesMax)),
    ),
  );
  p11.C_DestroyObject(tokenSession, wrapping);
  return wrapped ? ["can be wrapped out of the token"] : [];
}

function wrappingKey(p11: P11, tokenSession: Handle): Handle | undefined {
  try {
    return p11.C_GenerateKey(tokenSession, { mechanism: ckm.aesKeyGen }, [
      { type: cka.class, value: ckoSecret },
      { type: cka.keyType, value: ckk.aes },
      { type: cka.token, value: false },
      { type: cka.valueLength, value: 32 },
      { type: cka.wrap, value: true },
      { type: cka.encrypt, value: true },
      { type: cka.decrypt, value: true },
    ]);
  } catch {
    return undefined; // No AES, or no session objects: this way out does not exist here.
  }
}

/** True when the token let it happen; any refusal, whatever its number, is what we hope for. */
function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

const wrappedBytesMax = 8192;
