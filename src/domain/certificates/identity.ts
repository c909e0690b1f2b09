/** What two certificates must share for the later one to supersede the earlier (EXP-2). */

import { sha256 } from "#core/crypto.ts";
import { canaryMarker } from "#core/policy/profiles.ts";
import type { CertificateRecord } from "./store.ts";

/**
 * A short digest over subject and profile; a certificate without subject is who its names say it
 * is. Empty for certificates of pkid itself, which supersede nothing.
 */
export function identityOf(
  certificate: Pick<CertificateRecord, "kind" | "subject" | "profile" | "sans" | "marker">,
): string {
  const { kind, subject, profile, sans, marker } = certificate;
  if (kind !== "leaf" || marker === canaryMarker) return "";
  const names = subject === "" ? [...sans].sort() : [];
  const text = JSON.stringify([profile, subject, names]);
  return sha256(new TextEncoder().encode(text)).slice(0, 16).toBase64({ omitPadding: true });
}
