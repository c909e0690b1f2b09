/** Settings of identities: the root user, policy, and API tokens. */

import { count, field, flag, secret, text } from "#config/fields.ts";
import { textual } from "#config/kinds.ts";
import { section } from "#config/section.ts";

/** The keys under `root_user`. */
export const rootUser = section("Root user", {
  username: text("Name of the built-in administrator.", "root"),
  password: secret("Password; generated at the first start when neither it nor the hash is set."),
  password_hash: secret(
    "Argon2id string of the password, so that no clear text is stored.",
    undefined,
    {
      wrong: (value) =>
        value.startsWith("$argon2id$") ? undefined : "Must be an argon2id string ($argon2id$…).",
    },
  ),
});

/** The keys under `policy`. */
export const policy = section("Policy", {
  allow_root_basic_auth: flag("Accept the root user's password over HTTP Basic.", true),
  max_cert_validity_days: count("Cap on the validity of every leaf in days; 0 means none.", 0),
});

/** RFC 6265 §4.1.1: a token; room is left for what is appended. */
const cookieName = textual("cookie name", "pki_session", {
  pattern: /^[A-Za-z0-9_.-]{1,64}$/,
  wants: "Must be 1 to 64 of the characters A-Z, a-z, 0-9, dot, underscore and hyphen.",
});

/** The keys under `auth`. */
export const auth = section("Authentication", {
  session: section("Sessions of people", {
    cookie_name: field(
      "Name of the session cookie; the others are named after it.",
      cookieName,
      "pki_session",
    ),
    ttl_minutes: count("Life of a session in minutes from login, however much it is used.", 60, {
      min: 1,
      max: 44_640,
    }),
    insecure: flag("Leave Secure out of cookies, for tests without TLS.", false),
  }),
  api_tokens: section("API tokens", {
    max_lifetime_days: count(
      "Longest life of a token in days; 0 means no cap. With a cap a token without expiry gets it.",
      0,
    ),
  }),
});
