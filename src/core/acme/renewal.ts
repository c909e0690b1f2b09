/** When a certificate is to be renewed, and how clients ask about it (ARI-1 to ARI-3; RFC 9773). */

import { unsignedInteger } from "#core/asn1/der.ts";
import { type Serial, serialFromBytes, serialToBytes } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";

import { base64urlOctets, base64urlText } from "./base64url.ts";

/** RFC 9773 §4.1: the name of a certificate in paths, from the key identifier of its issuer. */
export const certId = (authorityKeyId: Uint8Array, serial: Serial): string =>
  `${base64urlText(authorityKeyId)}.${base64urlText(contentOf(serial))}`;

/**
 * Reads such a name; `keyId` is lower hex. The leading zero of a serial may be absent, because
 * Apache's mod_md omits it. Undefined for any other spelling than that of `certId`: padding,
 * another alphabet, a serial of zero, with bytes too many, or of more than 20 bytes (RFC 5280
 * §4.1.2.2).
 */
export function readCertId(
  text: string,
): { readonly keyId: string; readonly serial: Serial } | undefined {
  if (text.length > certIdMax) return undefined;
  const [keyText = "", serialText = "", ...more] = text.split(".");
  const keyId = base64urlOctets(keyText);
  const content = base64urlOctets(serialText);
  if (more.length > 0 || !keyId?.length || !content?.length) return undefined;
  const serial = serialFromBytes(content);
  const expected = contentOf(serial);
  const isSpelled = expected.equals(content) || expected.equals(Buffer.concat([zero, content]));
  if (serial === "0" || !isSpelled) return undefined;
  const isTooLong = serialToBytes(serial).length > serialOctetsMax;
  return isTooLong ? undefined : { keyId: keyId.toHex(), serial };
}

/** When clients are to renew, and how soon they are to ask again. */
export interface RenewalWindow {
  readonly start: Instant;
  readonly end: Instant;
  readonly retryAfterSeconds: number;
}

/** The settings of ACME that say when; 0 follows from the lifetime. */
export interface RenewalSettings {
  readonly renewal_window_days: number;
  readonly renewal_window_width_hours: number;
  readonly renewal_poll_hours: number;
}

/** A certificate, as far as its renewal is concerned. */
export interface Renewable {
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly settings: RenewalSettings;
  readonly now: Instant;
  /** It is to be replaced at once (ARI-3), whatever its lifetime. */
  readonly hurried: boolean;
}

/** The window by lifetime and settings (ARI-2), or the one of ARI-3. */
export function window(certificate: Renewable): RenewalWindow {
  const { notBefore, notAfter, settings, now, hurried } = certificate;
  if (hurried) return { start: instant(now - hourMs), end: now, retryAfterSeconds: hourSeconds };
  const lifetime = Math.max(notAfter - notBefore, 0);
  const days = settings.renewal_window_days * 24 * hourMs;
  const renewBefore = Math.floor(days === 0 ? lifetime / 3 : Math.min(days, lifetime / 2));
  const width = settings.renewal_window_width_hours * hourMs || Math.floor(renewBefore / 2);
  const start = notAfter - renewBefore;
  // RFC 9773 §4.2: the end lies behind the start; and a client needs a moment before the expiry.
  const last = notAfter - Math.min(1000, Math.ceil(renewBefore / 2));
  return {
    start: instant(start),
    end: instant(Math.min(start + width, last)),
    retryAfterSeconds: pollSeconds(settings, lifetime),
  };
}

/**
 * A window that was planned for the certificate, as it is: clients ask so often that they see it in
 * its first quarter, but never more than once a minute, or in ten seconds where the window itself
 * is shorter than ten minutes.
 */
export function pulled(
  { retryAfterSeconds }: Pick<RenewalWindow, "retryAfterSeconds">,
  own: Pick<RenewalWindow, "start" | "end">,
): RenewalWindow {
  const width = (own.end - own.start) / 1000;
  const often = Math.min(retryAfterSeconds, Math.floor(width / 4));
  const least = width < shortWindowSeconds ? 10 : retryAfterMin;
  return { start: own.start, end: own.end, retryAfterSeconds: Math.max(often, least) };
}

function pollSeconds({ renewal_poll_hours }: RenewalSettings, lifetime: number): number {
  const seconds = Math.min(renewal_poll_hours * hourSeconds, Math.floor(lifetime / 24_000));
  return Math.max(seconds, retryAfterMin);
}

/** X.690 §8.3: content octets, with one of zero in front where the first bit is set. */
const contentOf = (serial: Serial): Buffer =>
  Buffer.from(unsignedInteger(serialToBytes(serial)).subarray(2));

const hourMs = 3_600_000;
const hourSeconds = 3600;
const retryAfterMin = 60;
const shortWindowSeconds = 600;
const serialOctetsMax = 20;
/** More than any identifier of a key and serial take. */
const certIdMax = 256;
const zero = Uint8Array.of(0);
