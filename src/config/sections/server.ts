/** Settings of the listeners: addresses, TLS, limits on clients. */

import { integer, type Kind, oneOf, WrongValue } from "#core/shape.ts";
import { address, block, dnsName, textual } from "#core/shape/texts.ts";
import { tlsSuiteNames, usualTlsSuites } from "#core/tls-suites.ts";
import { endsInNumber } from "#core/x509/addresses.ts";

import {
  count,
  duration,
  existingFile,
  field,
  baseUrl,
  flag,
  hostPort,
  list,
  path,
  reloadable,
  text,
  word,
  written,
} from "#config/fields.ts";
import { derived, section } from "#config/section.ts";

/** What every client of TLS 1.2 and 1.3 knows. */
const servingKeyTypes = [
  "ecdsa-p256",
  "ecdsa-p384",
  "ecdsa-p521",
  "rsa-2048",
  "rsa-3072",
  "rsa-4096",
] as const;

const selfIssue = section("Serving certificate issued by pkid itself", {
  enabled: flag(
    "Issue, store and rotate the serving certificate with an internal CA.",
    derived("true without `server.tls_cert`", (of) => of("server.tls_cert") === undefined),
  ),
  ca_id: text(
    "Id or label of the CA that issues it; without it an internal one, whose certificate lies in `<data_dir>/serving-ca.pem`.",
  ),
  tenant: text("Tenant that its CA belongs to, by id or slug.", "default"),
  profile: text("Profile it is issued under.", "server"),
  key_type: word(
    "Type of its key, which is new with every certificate.",
    servingKeyTypes,
    "ecdsa-p256",
  ),
  renew_before: duration(
    "Time before its end at which it is replaced; two thirds of its life at most. Without it the last third.",
  ),
  common_name: text(
    "Common name.",
    derived("host name", (_, host) => ownName(host)),
  ),
  dnsnames: list(
    "DNS names.",
    dnsName,
    derived("host name, `localhost`", (_, host) => [...new Set([ownName(host), "localhost"])]),
  ),
  ips: list("IP addresses.", address, ["127.0.0.1", "::1"]),
  validity_seconds: count("Lifetime in seconds; 0 takes the lifetime of the profile.", 0),
});

/** A machine called `node.1` has a name no certificate may carry, for it ends in a number. */
function ownName(host: string): string {
  return endsInNumber(host) ? "localhost" : host;
}

// The value 0 is read as the default it stands for, so that nobody behind the loader has to know.
const seconds = integer(-1, 31_536_000);
const cacheSeconds: Kind<number> = {
  ...seconds,
  read: (raw) => seconds.read(raw) || 3600,
};

const socketPath = textual("path", "/run/pkid/pkid.sock", {
  pattern: /^\//,
  max: 4096,
  wants: "Must be an absolute path.",
});

const octal = textual("octal", "0660", { pattern: /^0?[0-7]{3}$/, max: 4, wants: octalWanted() });
const permissionBits: Kind<string> = {
  ...octal,
  // In quotes, because YAML 1.2 reads 0660 as six hundred and sixty, and 0o660 as four hundred and
  // thirty-two.
  read: (raw) => {
    if (typeof raw !== "string") throw new WrongValue(octalWanted());
    return octal.read(raw);
  },
};

function octalWanted(): string {
  return 'Must be three octal digits in quotes, such as "0660".';
}

/** The keys under `server`. */
export const server = section("Listeners", {
  host: text("Address the main listener binds to.", "0.0.0.0"),
  port: count("Port of the main listener; 0 takes a free one.", 8443, { max: 65_535 }),
  public_url: baseUrl(
    "Base of the URLs this service is reached under from outside; without it no URL is put into certificates.",
  ),
  tls_cert: reloadable(existingFile("PEM file with the serving certificate and its path.")),
  tls_key: reloadable(existingFile("PEM file with the key of the serving certificate.")),
  tls: section("TLS of the main listener", {
    min_version: word("Oldest TLS version spoken.", ["1.2", "1.3"], "1.2"),
    cipher_suites: list(
      "Cipher suites of TLS 1.2, by OpenSSL's names; those of TLS 1.3 are always spoken. Suites without forward secrecy do not exist as a setting.",
      oneOf(tlsSuiteNames),
      usualTlsSuites,
    ),
    self_issue: selfIssue,
  }),
  trusted_proxies: list(
    "Address blocks of proxies whose X-Forwarded-For is believed; the rightmost address outside them is the client.",
    block,
    [],
  ),
  public_http: section("Cleartext listener for CRLs, OCSP and CA certificates", {
    enabled: flag("Serve the public revocation endpoints without TLS, and nothing else.", false),
    address: hostPort("Address of the cleartext listener.", "0.0.0.0:8080"),
  }),
  unix_socket: section("The routes of the main listener on a Unix socket", {
    path: written("file", field("Path of the socket; without it there is none.", socketPath)),
    mode: field("Permission bits in octal digits: who may connect.", permissionBits, "0600"),
    group: text("Group the socket belongs to."),
  }),
  admin_socket: section("Local administration", {
    enabled: flag("Listen on a Unix socket (mode 0600) for the command line.", true),
    path: written(
      "file",
      path(
        "Path of the socket.",
        derived("`<data_dir>/admin.sock`", (of) => `${of("data_dir")}/admin.sock`),
      ),
    ),
  }),
  max_body_bytes: count("Largest request body in bytes; a larger one is answered 413.", 8_388_608, {
    min: 1024,
  }),
  max_bulk_body_bytes: count(
    "The same for bulk issue, bulk revocation and CRL import, which are read in turns with other requests.",
    33_554_432,
    { min: 1024 },
  ),
  body_timeout_seconds: count("Seconds a client may take to send the body.", 30, {
    min: 1,
    max: 255,
  }),
  request_timeout_seconds: count("Seconds a request with its body read may take.", 60, {
    min: 1,
    max: 255,
  }),
  idle_timeout_seconds: count("Seconds an idle connection is kept.", 60, { min: 1, max: 255 }),
  shutdown_timeout_seconds: count(
    "Seconds given to requests in flight when the server stops.",
    30,
    {
      min: 1,
    },
  ),
  shutdown_delay_seconds: count(
    "Seconds the server goes on serving after it was told to stop, while `/readyz` says not ready: as long as a balancer takes to see that.",
    0,
    { min: 0, max: 300 },
  ),
  ocsp_cache_ttl_seconds: field(
    "Seconds a signed OCSP answer is kept; 0 means 3600, -1 switches the cache off.",
    cacheSeconds,
    0,
  ),
  ocsp_cache_entries: count("OCSP answers kept; the least recently used leaves first.", 100_000, {
    min: 1,
  }),
});
