/** Settings of ACME: who may enrol where, how names are proved, and when clients renew. */

import { challengeNames } from "#core/acme/challenges.ts";
import { oneOf } from "#core/shape.ts";
import { block, checkedText, label, serverAndPort, textual } from "#core/shape/texts.ts";

import { anyUrl, baseUrl, count, field, flag, list, map, named, text } from "#config/fields.ts";
import { secret, secretEntry } from "#config/secret-field.ts";
import { maybeDerived, section, type Values } from "#config/section.ts";

const keyOctetsMin = 16;
const port = { min: 1, max: 65_535 } as const;
const hours = { min: 1, max: 8760 } as const;

/** A path below which a protocol is served, as it stands in every URL. */
const servedPath = checkedText("path of URLs", "/acme", (value) =>
  /^(?:\/[A-Za-z0-9._~-]+)+$/.test(value) && !/\/\.{1,2}(?:\/|$)/.test(value) && value.length <= 128
    ? undefined
    : "must be a path like /acme, without final slash and dot segments",
);

/** RFC 8555 §7.3.4: the key of a binding, base64url. */
const bindingKey = (value: string): string | undefined =>
  /^[A-Za-z0-9_-]+$/.test(value) && Buffer.from(value, "base64url").length >= keyOctetsMin
    ? undefined
    : `Must be at least ${keyOctetsMin} octets in base64url.`;

const nonceKey = (value: string): string | undefined =>
  /^[A-Za-z0-9+/]+={0,2}$/.test(value) && Buffer.from(value, "base64").length >= keyOctetsMin
    ? undefined
    : `Must be at least ${keyOctetsMin} octets in base64.`;

/** What a directory offers under a name (profiles extension). */
const offered = {
  description: field(
    "What the directory says of it: a sentence, or a URL.",
    textual("sentence", "Servers of the intranet.", { max: 500 }),
  ),
  profile: field("Profile it stands for.", label),
} as const;

/** A directory beside the first. */
const directoryMembers = {
  path: field("Where it is served.", servedPath),
  ca_id: text("Its CA, by id."),
  ca_label: text("Its CA, by label."),
  profile: field("Profile of orders that name none.", label, "server"),
  tenant: text("Tenant the CA must belong to, by id or slug; unset takes that of the CA."),
  require_eab: flag("Refuse accounts without external account binding.", false),
} as const;

/** The keys under `acme`. */
export const acme = section("ACME", {
  enabled: flag("Serve ACME.", false),
  base_url: baseUrl(
    "Base of every URL of the protocol; never taken from a request.",
    maybeDerived("`server.public_url`", (of) => of("server.public_url")),
  ),
  directory_path: field("Path of the directory and all below it.", servedPath, "/acme"),
  ca_id: text("The CA that issues, by id; its lineage is followed."),
  ca_label: text("The same by label."),
  profile: field("Profile of orders that name none.", label, "server"),
  profiles: named("Profiles a client may name, by the name it uses.", offered),
  directories: named(
    "Further directories by name: other paths, each for a CA of its own.",
    directoryMembers,
  ),
  terms_of_service: anyUrl("Terms that accounts agree to; set, it is required."),
  renewal_explanation_url: anyUrl("Page that says why a certificate is to be renewed."),
  challenge_types: list("Ways to prove a name.", oneOf(challengeNames), [
    "http-01",
    "dns-01",
    "tls-alpn-01",
  ]),
  http01_port: count("Port asked by http-01.", 80, port),
  tls_alpn01_port: count("Port asked by tls-alpn-01.", 443, port),
  dns_resolver: field(
    "Validating resolver, a host with a port; unset asks the system's.",
    serverAndPort,
  ),
  vantage_resolvers: list(
    "Further resolvers that must see the same; for attackers who are near one of them.",
    serverAndPort,
    [],
  ),
  validation_attempts: count("Attempts at a proof, with 2, 10 and then 30 seconds between.", 4, {
    min: 1,
    max: 20,
  }),
  validation_timeout_seconds: count("Seconds one attempt may take.", 10, { min: 1, max: 60 }),
  validation_deny_networks: list("Blocks that are never connected to.", block, [
    "127.0.0.0/8",
    "::1/128",
    "169.254.0.0/16",
    "fe80::/10",
    "0.0.0.0/8",
    "::/128",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "ff00::/8",
  ]),
  validation_allow_networks: list(
    "Blocks that are connected to although they are denied, or hold a listener of pkid.",
    block,
    [],
  ),
  require_eab: flag("Refuse accounts without external account binding.", false),
  eab_hmac_keys: map(
    "Keys of bindings to the first directory, by kid: base64url, or a source like those of secrets.",
    secretEntry({ wrong: bindingKey }),
  ),
  allow_ip_identifiers: flag("Certify addresses too.", false),
  pre_authorization: flag("Let accounts prove names before they order.", false),
  order_validity_hours: count("Hours an order may take.", 168, hours),
  authz_validity_hours: count("Hours a proof stays good for further orders.", 168, hours),
  max_identifiers: count("Names of an order.", 100, { min: 1, max: 1000 }),
  idle_account_days: count(
    "Days after which an account goes that has ended, or that has ordered nothing since and never had a certificate; 0 keeps all. One that was bound with a credential stays until it ends.",
    365,
    { max: 36_500 },
  ),
  renewal_window_days: count(
    "Days before its end in which a certificate is to be renewed, at most half its life; 0 takes a third.",
    0,
    { max: 3650 },
  ),
  renewal_window_width_hours: count("Hours the suggested window is wide; 0 takes half.", 0, {
    max: 87_600,
  }),
  renewal_poll_hours: count("Hours after which clients ask again.", 6, { min: 1, max: 8760 }),
  nonce_hmac_key: secret("Key of nonces, base64; generated and sealed when unset.", undefined, {
    wrong: nonceKey,
  }),
});

/** The keys under `acme`, read. */
export type AcmeSetting = Values<typeof acme.members>;
