/** Settings of private keys: the provider, its software store, and the PKCS#11 token. */

import { count, existingFile, flag, path, text, word, written } from "#config/fields.ts";
import { secret } from "#config/secret-field.ts";
import { derived, maybeDerived, section } from "#config/section.ts";

const providers = ["pkcs11", "software"] as const;
const sameAsType = derived("as `key_provider.type`", (of) => of("key_provider.type"));

/** The keys under `key_provider`. */
export const keyProvider = section("Private keys", {
  type: word(
    "Where private keys are made and used.",
    providers,
    derived("`pkcs11` with `pkcs11.module_path`, else `software`", (of) =>
      of("pkcs11.module_path") === undefined ? "software" : "pkcs11",
    ),
  ),
  roles: section("Provider by role", {
    ca: word("Provider of CA keys.", providers, sameAsType),
    responder: word("Provider of OCSP responder keys.", providers, sameAsType),
  }),
  software: section("Sealed software keys", {
    keystore_dir: written(
      "private directory",
      path(
        "Directory of the sealed key files (directory 0700, files 0600).",
        derived("`<data_dir>/keys`", (of) => `${of("data_dir")}/keys`),
      ),
    ),
    master_key_file: written(
      "file",
      path(
        "File of the master key that seals the key-encryption keys among them; made with mode 0600, refused when others can read it.",
        maybeDerived("`<data_dir>/master.key`, none with a passphrase", (of) =>
          of("key_provider.software.passphrase") === undefined
            ? `${of("data_dir")}/master.key`
            : undefined,
        ),
      ),
    ),
    passphrase: secret("Derives the master key (argon2id) instead of the file."),
  }),
});

/** The keys under `pkcs11`. */
export const pkcs11 = section("PKCS#11 token", {
  module_path: existingFile("The vendor's PKCS#11 module."),
  uri: secret(
    "RFC 7512 URI that selects the token instead of the token fields; never with a PIN.",
    undefined,
    {
      wrong: wrongUri,
      show: (uri) => uri,
    },
  ),
  pin: secret("PIN of the user."),
  token_label: text("Label that selects the token."),
  token_serial: text("Serial number that selects the token."),
  token_manufacturer: text("Manufacturer that selects the token."),
  session_pool_size: count("Sessions, and so operations on the device at once.", 8, {
    min: 1,
    max: 256,
  }),
  operation_timeout_seconds: count(
    "Seconds after which a stalled operation is answered 503 and its session replaced.",
    10,
    { min: 1 },
  ),
});

function wrongUri(uri: string): string | undefined {
  if (!uri.startsWith("pkcs11:")) return "Must be an RFC 7512 URI (pkcs11:…).";
  // RFC 7512 §2.3 allows a PIN in the URI; a PIN in a place that is printed is no secret.
  if (/[?&]pin-value=/i.test(uri)) return "Must not carry a pin-value; use pkcs11.pin_source.";
  const named = uri.slice("pkcs11:".length).split(";");
  const known = named.every((part) => /^((token|serial|manufacturer)=[^?;]*)?$/.test(part));
  if (!known) return "Must select by token, serial and manufacturer, and by nothing else.";
  try {
    decodeURIComponent(uri);
    return undefined;
  } catch {
    return "Has a percent sign that begins no escape of UTF-8.";
  }
}

/** The keys under `secret`. */
export const secretSection = section("Secrets in the database", {
  kek_label: text(
    "Label family of the key that seals secrets and software keys, made by `key_provider.type`; unset: in the software store.",
  ),
  pqc_hybrid: flag(
    "New versions of that key get an ML-KEM-1024 half in the software store, and what they seal opens with both only; wants `secret.kek_label`.",
    false,
  ),
});
