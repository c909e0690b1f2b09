/** What the operations the console uses answer, in the words of `src/api`. */

import type { eventJson } from "#api/audit.ts";
import type { ListEnvelope } from "#api/pages.ts";
import type { passkeyJson } from "#api/passkeys.ts";

/** One page of a collection. */
export type Listed<Item> = ListEnvelope<Item>;

export interface Liveness {
  readonly status: string;
  readonly build: { readonly version: string; readonly commit?: string; readonly runtime: string };
}

export interface Readiness {
  readonly status: "ready" | "not_ready";
  readonly components: Readonly<Record<string, Component>>;
}

export interface Component {
  readonly status: string;
  readonly detail?: string;
  readonly error?: string;
}

export interface Caller {
  readonly sub: string;
  readonly name?: string;
  readonly roles: readonly string[];
}

export interface LoginWays {
  readonly oidc_login_enabled: boolean;
  readonly password_login: boolean;
  readonly ldap_login: boolean;
  readonly issuer_url?: string;
}

export interface OpenedSession {
  readonly user: Caller;
  readonly csrf_token: string;
  readonly expires_at: string;
}

/** A session as those see it who may end it. */
export interface LiveSession {
  readonly id: string;
  readonly user_sub: string;
  readonly name?: string;
  readonly method: string;
  readonly ip: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
  readonly current: boolean;
}

/** A passkey as its owner sees it. */
export type Passkey = Omit<ReturnType<typeof passkeyJson>, "last_used_at"> & {
  readonly last_used_at?: string;
};

/** What a browser makes a passkey from; octets are in unpadded base64url. */
export interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly pubKeyCredParams: readonly { readonly type: "public-key"; readonly alg: number }[];
  readonly excludeCredentials: readonly NamedPasskey[];
  readonly authenticatorSelection: {
    readonly userVerification: "required" | "preferred";
    readonly residentKey: "preferred";
  };
  readonly timeout: number;
  readonly attestation: "none";
}

/** What a browser lets a passkey sign. */
export interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly allowCredentials: readonly NamedPasskey[];
  readonly userVerification: "required" | "preferred";
  readonly timeout: number;
}

export interface NamedPasskey {
  readonly type: "public-key";
  readonly id: string;
}

export interface Ca {
  readonly id: string;
  readonly label: string;
  readonly parent_id?: string;
  readonly key_type: string;
  readonly provider: string;
  readonly public_key_fingerprint: string;
  readonly subject?: unknown;
  readonly serial?: string;
  readonly not_before?: string;
  readonly not_after?: string;
  readonly status: string;
}

export interface IssuedCertificate {
  readonly id: string;
  readonly serial: string;
  readonly subject: string;
  readonly sans: readonly string[];
  readonly profile: string;
  readonly not_after: string;
  readonly status: "good" | "revoked" | "held" | "expired";
  readonly reason?: string;
}

export interface CrlStatus {
  readonly base: {
    readonly available: boolean;
    readonly number?: string;
    readonly this_update?: string;
    readonly next_update?: string;
    readonly revoked_count: number;
  };
}

/** One audit event; members that are empty are absent. */
export type Event = ReturnType<typeof eventJson> & {
  readonly actor_name?: string;
  readonly target?: string;
  readonly target_name?: string;
  readonly serial?: string;
  readonly detail?: string;
};

/**
 * Operation by operation: what is answered. An operation that is not here cannot be asked by the
 * console.
 */
export interface Answers {
  "health.live": Liveness;
  "health.ready": Readiness;
  "auth.config": LoginWays;
  "auth.me": Caller;
  "auth.login_password": OpenedSession;
  "auth.login_ldap": OpenedSession;
  "auth.session": OpenedSession;
  "auth.logout": { readonly status: string };
  "session.list": Listed<LiveSession>;
  "session.end": { readonly status: string };
  "webauthn.list": Listed<Passkey>;
  "webauthn.register_begin": CreationOptions;
  "webauthn.register": { readonly id: string };
  "webauthn.step_up_begin": RequestOptions;
  "webauthn.step_up": { readonly step_up_until: string };
  "webauthn.remove": { readonly status: string };
  "ca.list": Listed<Ca>;
  "ca.show": Ca;
  "crl.status": CrlStatus;
  "cert.list": Listed<IssuedCertificate>;
  "event.list": Listed<Event>;
}
