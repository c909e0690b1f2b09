/** Settings of identities: the root user, policy, and API tokens. */

import { count, flag, secret, text } from "#config/fields.ts";
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

/** The keys under `auth`. */
export const auth = section("Authentication", {
  api_tokens: section("API tokens", {
    max_lifetime_days: count(
      "Longest life of a token in days; 0 means no cap. With a cap a token without expiry gets it.",
      0,
    ),
  }),
});
