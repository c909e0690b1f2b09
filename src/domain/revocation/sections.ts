/** What revocation reads of the configuration, in the members' own names. */

import type { KeyType } from "#core/x509/algorithms.ts";
import type { ProviderName } from "#domain/key-ref.ts";

/** Lists, answers signed now and ahead, and who signs them. */
export interface RevocationSections {
  readonly crl: {
    readonly shards: number;
    readonly base_url: string | undefined;
    readonly base_validity_hours: number;
    readonly delta_interval_minutes: number;
    readonly refresh_after_revocation_seconds: number;
    readonly keep_expired: boolean;
  };
  readonly ocsp: {
    readonly nonce_enabled: boolean;
    readonly nonce_max_age_seconds: number;
    readonly validity_hours: number;
    /** False signs with the CA key itself. */
    readonly delegated: boolean;
    readonly delegated_validity_hours: number;
    readonly delegated_key_type: KeyType;
  };
  readonly presign: {
    readonly enabled: boolean;
    /** From signing to nextUpdate. */
    readonly validity_minutes: number;
    /** From the end of a sweep to the next; answers younger than half of it are left alone. */
    readonly refresh_minutes: number;
    /** Whether serials lately asked about are swept too, and how many are remembered. */
    readonly recently_queried: boolean;
    readonly recent_capacity: number;
    /** How long after notAfter a certificate is still swept; below 0 not at all. */
    readonly expired_grace_minutes: number;
  };
  readonly issuance: { readonly backdate_seconds: number };
  readonly server: {
    /** Seconds an answer is kept; below 0 none is. */
    readonly ocsp_cache_ttl_seconds: number;
    /** Most answers kept in memory. */
    readonly ocsp_cache_entries: number;
  };
  readonly key_provider: { readonly roles: { readonly responder: ProviderName } };
}
