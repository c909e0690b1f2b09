/** Settings of CRLs and OCSP. */

import { isPostQuantum, type KeyType, keyTypes } from "#core/x509/algorithms.ts";

import { baseUrl, count, flag, word } from "#config/fields.ts";
import { maybeDerived, section } from "#config/section.ts";

/** The keys under `crl`. */
export const crl = section("CRLs", {
  shards: count(
    "Partitions over which the CRL of each CA is spread; 0 and 1: none. May grow and shrink at any restart. Software on NSS cannot read partitions (their issuingDistributionPoint is critical) and needs the full CRL; openssl reads deltas with `-extended_crl -use_deltas` only.",
    0,
    { max: 1024 },
  ),
  base_url: baseUrl(
    "Base of the CRL and CA-certificate URLs in certificates; may be http.",
    maybeDerived("`server.public_url`", (of) => of("server.public_url")),
  ),
  delta_interval_minutes: count("Minutes a delta is valid.", 60, { min: 1 }),
  base_validity_hours: count("Hours from thisUpdate to nextUpdate.", 168, { min: 2, max: 240 }),
  refresh_after_revocation_seconds: count(
    "Seconds after a revocation until the CRL is signed anew; at once for compromised keys.",
    60,
    { max: 86_400 },
  ),
  keep_expired: flag("Keep expired certificates on the CRL, and say so in it.", false),
  http_max_age_seconds: count("Seconds shared caches may keep a CRL; 0 means until nextUpdate.", 0),
});

// The table's keys are exactly the key types; relying parties do not verify OCSP answers by
// post-quantum keys yet.
const types = (Object.keys(keyTypes) as readonly KeyType[]).filter((type) => !isPostQuantum(type));

/** The keys under `ocsp`. */
export const ocsp = section("OCSP", {
  nonce_enabled: flag("Echo the nonce of a request.", true),
  nonce_max_age_seconds: count("Seconds an answer with a nonce stays valid.", 60, { min: 1 }),
  delegated: flag("Sign answers by responders with keys of their own, not by the CA's key.", true),
  delegated_validity_hours: count("Lifetime of a responder certificate in hours.", 168, {
    min: 24,
    max: 8760,
  }),
  delegated_key_type: word("Key type of responders.", types, "ecdsa-p256"),
  validity_hours: count("Hours an answer without nonce stays valid.", 24, { min: 8, max: 240 }),
  http_max_age_seconds: count(
    "Seconds shared caches may keep an answer; 0 means until nextUpdate.",
    0,
  ),
});
