/** The check config.default_secrets: over every secret that the schema has. */

import { expect, test } from "bun:test";

import { type SecretPremises, secretsStrong } from "#adapters/preflight/secrets.ts";
import { configSchema } from "#config/schema.ts";
import { Secret } from "#config/secret.ts";
import { leaves } from "#config/section.ts";

const everySecret = leaves(configSchema)
  .filter(({ field }) => field.source !== undefined)
  .map(({ path }) => path)
  .concat("acme.eab_hmac_keys.kid-1");
/** From a hash nobody tells what it was made from, and the URI of a token has no secret in it. */
const noSecrets = ["root_user.password_hash", "pkcs11.uri"];
const inUrls = ["database.dsn", "outbound.proxy_url"];

function looked(path: string, value: string) {
  const premises: SecretPremises = {
    set: [{ path, setting: { from: "value", value: new Secret(value) } }],
    secrets: {
      fresh: async () => value,
      recent: async () => value,
      probe: () => {},
    },
    describeSource: () => "",
    keys: { fault: "none are open" },
    serving: false,
  };
  return secretsStrong(premises);
}

const judged = everySecret.filter((path) => !noSecrets.includes(path));

test.each(judged)(
  "%s fails for a known default and for what the example file has",
  async (path) => {
    for (const value of ["changeme", "***"]) {
      const url = `https://pkid:${encodeURIComponent(value)}@db.example.com/pkid`;
      const found = await looked(path, inUrls.includes(path) ? url : value);
      expect([found.status, found.detail]).toEqual(["fail", expect.stringContaining(path)]);
      expect(found.detail).not.toContain(value);
    }
  },
);

test.each(judged)("%s warns where it may be guessed, but for what a token counts", async (path) => {
  const value = "9ea4bd17";
  const found = await looked(path, inUrls.includes(path) ? `https://u:${value}@h/` : value);
  expect(found.status).toBe(path === "pkcs11.pin" ? "pass" : "warn");
});

test.each(["acme.nonce_hmac_key", "acme.eab_hmac_keys.kid-1"])(
  "%s warns under 32 octets",
  async (path) => {
    const key = (octets: number) =>
      Buffer.from(Array.from({ length: octets }, (_, at) => (at * 37 + 11) % 251));
    expect(await looked(path, key(31).toString("base64url"))).toMatchObject({
      status: "warn",
      detail: `${path} has 31 octets; 32 are due.`,
    });
    expect((await looked(path, key(32).toString("base64url"))).status).toBe("pass");
  },
);

test.each(noSecrets)("%s is not looked at", async (path) => {
  expect((await looked(path, "changeme")).status).toBe("skip");
});
