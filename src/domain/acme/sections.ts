/** What ACME reads of the configuration in force. */

import type { ChallengeType } from "#core/acme/challenges.ts";

/** `acme`, as far as accounts, orders, proofs and renewal ask for it. */
export interface AcmeSections {
  readonly acme: {
    readonly enabled: boolean;
    readonly terms_of_service: string | undefined;
    readonly renewal_explanation_url: string | undefined;
    readonly challenge_types: readonly ChallengeType[];
    readonly validation_attempts: number;
    readonly validation_timeout_seconds: number;
    readonly allow_ip_identifiers: boolean;
    readonly pre_authorization: boolean;
    readonly order_validity_hours: number;
    readonly authz_validity_hours: number;
    readonly max_identifiers: number;
    readonly idle_account_days: number;
    readonly renewal_window_days: number;
    readonly renewal_window_width_hours: number;
    readonly renewal_poll_hours: number;
  };
  readonly caa: { readonly identifier: string | undefined };
}
