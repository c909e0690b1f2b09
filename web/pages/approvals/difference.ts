/** What a request would change: how it is, and how it would be, operation by operation. */

import { capabilities, gives, parseRole } from "#core/access/roles.ts";
import type { Answers } from "#api/answers.ts";
import { plainText } from "#web/ui/plain.ts";

type Approval = Pick<Answers["approval.show"], "operation" | "details" | "resource_name">;

/** One thing that changes. */
export interface Change {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

/** How things are now, as far as whoever looks may see it. */
export interface Now {
  readonly ca?: Pick<Answers["ca.show"], "label" | "status" | "key_type"> | undefined;
  /** The label of the CA that would be vouched for. */
  readonly other?: string | undefined;
  /** Certificates of the CA that are good or held. */
  readonly valid?: number | undefined;
  /** What chains to the key that would be retired, and its label. */
  readonly outstanding?: number | undefined;
  readonly oldest?: string | undefined;
  /** What the tenant of the request is called. */
  readonly tenant?: string | undefined;
  readonly kek?: Pick<Answers["kek.show"], "version" | "wrapped_keys"> | undefined;
}

/** Nothing for an operation that is not known here: its details say what is executed. */
export function changesOf({ operation, details, resource_name }: Approval, now: Now) {
  const changes = tellers[operation]?.(membersOf(details), now, resource_name) ?? [];
  return changes.map(({ what, before, after }) => ({
    what,
    before: plainText(before),
    after: plainText(after),
  }));
}

type Members = Readonly<Record<string, unknown>>;
type Teller = (details: Members, now: Now, name: string) => readonly Change[];

const tellers: Readonly<Record<string, Teller>> = {
  "ca.init_root": (details) => [
    ...newCa(details, "a root of its own"),
    {
      what: "Trust",
      before: "nobody trusts it",
      after: "whoever takes it up trusts all that it and the CAs below it certify",
    },
  ],
  "ca.issue_intermediate": (details) => newCa(details, `below ${text(details.ca_label)}`),
  "ca.import_cert": (details, now) => certified(details, now),
  "ca.import_finish": (details, now) => certified(details, now),
  "ca.cross_sign": (details, { other }) => {
    const { certificate_pem, csr_pem, ca_label } = details;
    const { subject } = membersOf(certificate_pem ?? csr_pem);
    const name = text(subject) || (other ?? "the other CA");
    return [
      {
        what: `Whoever trusts ${text(ca_label)}`,
        before: `need not trust ${name}`,
        after: `trusts ${name} and all that it certifies`,
      },
    ];
  },
  "ca.rotate": rotation,
  "ca.retire": retirement,
  "cert.revoke_bulk": (details, now) => [revocation(details, now)],
  "acme.replace.plan": (details, now) => [
    revocation({ ...details, reason: details.revoke }, now),
    {
      what: "ACME clients",
      before: "renew when they would anyway",
      after: "are told to replace these certificates first",
    },
  ],
  "kek.rotate": (_details, { kek }) => [
    {
      what: "Key-encryption key",
      before: kek === undefined ? "the version in use" : `version ${kek.version}`,
      after: kek === undefined ? "a new version" : `version ${kek.version + 1}`,
    },
    {
      what: "Data keys",
      before:
        kek === undefined
          ? "wrapped with the old one"
          : `${count(kek.wrapped_keys)} wrapped with it`,
      after: "all wrapped with the new one; the old one is retired",
    },
  ],
  "token.create": apiToken,
  "webauthn.reset": (details, _now, name) => [
    {
      what: `Passkeys of ${text(details.subject) || name}`,
      before: "as they are registered",
      after: "none; whoever logs in as this person registers anew",
    },
  ],
  "cert.issue": certificate,
  "cert.renew": certificate,
};

function newCa(details: Members, place: string): readonly Change[] {
  const { label, key_type, alt_key_type, validity_days, max_path_len } = details;
  const keys = [text(key_type), text(alt_key_type)].filter((one) => one !== "").join(" + ");
  const below = numberIn(max_path_len);
  return [
    {
      what: "Certificate authority",
      before: `none is called ${text(label)}`,
      after: `${text(label)} (${keys}), ${place}`,
    },
    { what: "Name in certificates", before: none, after: subjectText(details.subject) },
    {
      what: "Valid for",
      before: none,
      after: validity_days === undefined ? "the usual time" : `${text(validity_days)} days`,
    },
    ...(below === undefined
      ? []
      : [
          {
            what: "CAs below it",
            before: none,
            after: below === 0 ? none : `${below} deep at most`,
          },
        ]),
  ];
}

function certified(details: Members, { ca }: Now): readonly Change[] {
  const { issuer, not_after } = membersOf(details.certificate_pem);
  const by = text(issuer) === "" ? "" : `, certified by ${text(issuer)}`;
  const until = text(not_after) === "" ? "" : ` until ${text(not_after).slice(0, 10)}`;
  return [
    {
      what: ca?.label ?? text(details.ca_label),
      before: ca === undefined ? "waits for its certificate" : ca.status,
      after: `active${by}${until}`,
    },
  ];
}

function rotation(details: Members, { ca, valid }: Now): readonly Change[] {
  const { ca_label, new_label, key_type } = details;
  const label = text(ca_label);
  const old = ca?.key_type ?? "its key";
  return [
    {
      what: `Key of ${label}`,
      before: old,
      after: `a new one (${text(key_type) || (ca?.key_type ?? "of the same type")})`,
    },
    {
      what: "New certificates",
      before: `signed by ${label}`,
      after: `signed by ${text(new_label) || "its successor, which is named after it"}`,
    },
    {
      what: "Certificates there are",
      before: valid === undefined ? "valid" : `${count(valid)} valid`,
      after: "as valid as before; the old key signs their revocation until it is retired",
    },
  ];
}

function retirement(details: Members, { outstanding, oldest }: Now): readonly Change[] {
  return [
    {
      what: oldest ?? `Oldest superseded key of ${text(details.ca_label)}`,
      before: "superseded",
      after: `revoked for good, reason ${text(details.reason)}`,
    },
    {
      what: "Certificates that chain to it",
      before: outstanding === undefined ? "valid" : `${count(outstanding)} valid`,
      after: details.force === true ? "no longer accepted" : "none may be left, else it is refused",
    },
  ];
}

function revocation(details: Members, { valid }: Now): Change {
  const { confirm_count, reason, ca_label } = details;
  const howMany = numberIn(confirm_count);
  const held = reason === "certificateHold";
  const amount = howMany === undefined ? "all that fit" : count(howMany);
  const done = held ? "suspended, until they are released" : "revoked for good";
  return {
    what: `Certificates of ${text(ca_label)}`,
    before: valid === undefined ? "as they are" : `${count(valid)} valid`,
    after: `${amount} ${done}, reason ${text(reason)}`,
  };
}

function apiToken(details: Members, { tenant }: Now): readonly Change[] {
  const { roles, scope, tenant_id, expires_in_days, expires_at, expiry } = details;
  const words = Array.isArray(roles) ? roles.map(text) : [];
  const platform = scope === "platform";
  const may = capabilities.filter((capability) =>
    words.some((word) => {
      const role = parseRole(word);
      return role !== undefined && gives(role, capability, platform ? "platform" : "tenant");
    }),
  );
  const end = text(expires_at ?? expiry).slice(0, 10);
  const days = numberIn(expires_in_days);
  const until =
    days === undefined ? end || "never, or as configured" : `${days} days after it is made`;
  return [
    {
      what: "Whoever holds its secret",
      before: "may do nothing with it",
      after: `may as ${words.join(", ")}: ${may.length === capabilities.length ? "everything" : may.join(", ")}`,
    },
    {
      what: "Where",
      before: none,
      after: platform ? "in every tenant" : `in the tenant ${tenant ?? text(tenant_id)}`,
    },
    { what: "Ends", before: none, after: until },
  ];
}

function certificate(details: Members): readonly Change[] {
  const { csr, profile, validity_days, renews } = details;
  const wanted = membersOf(csr);
  const old = membersOf(renews);
  const isRenewal = renews !== undefined;
  // A renewal without a request of its own keeps names and key.
  const after = csr === undefined ? old : wanted;
  const subjects = { before: text(old.subject), after: text(after.subject) };
  const days = numberIn(validity_days);
  return [
    ...(subjects.before === "" && subjects.after === ""
      ? []
      : [
          {
            what: "Subject",
            before: subjects.before || none,
            after: subjects.after || none,
          },
        ]),
    {
      what: "Names",
      before: isRenewal ? namesIn(old) : "no certificate by this request",
      after: namesIn(after),
    },
    {
      what: "Profile",
      before: isRenewal ? text(old.profile) : none,
      after: text(profile) || text(old.profile),
    },
    {
      what: "Key",
      before: isRenewal ? "the one it has" : none,
      after: text(wanted.public_key_fingerprint) || "the same",
    },
    {
      what: "Valid for",
      before: none,
      after: days === undefined ? "as the profile says" : `${days} days`,
    },
  ];
}

/** Nothing is said where long details are left out. */
function namesIn({ sans }: Members): string {
  if (!Array.isArray(sans)) return "";
  return sans.length === 0 ? none : sans.map(text).join(", ");
}

/** Attribute by attribute, as they are asked for. */
const subjectText = (subject: unknown): string =>
  Object.entries(membersOf(subject))
    .map(([name, value]) => `${name.toUpperCase()}=${text(value)}`)
    .join(", ");

const membersOf = (value: unknown): Members =>
  // What is no object has no members.
  typeof value === "object" && value !== null ? (value as Members) : {};

const text = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";
const numberIn = (value: unknown): number | undefined =>
  typeof value === "number" ? value : undefined;
const count = (value: number): string => value.toLocaleString("en");
const none = "none";
