/**
 * Whatever a server answers, a source gives text that stood in the answer, or says in a sentence
 * why not.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import type { Ask } from "#adapters/secrets/attempt.ts";
import { fetchSecret } from "#adapters/secrets/sources.ts";
import { SecretUnavailable } from "#config/secret.ts";
import type { RemoteSource, VaultSource } from "#config/secret.ts";
import { instant } from "#core/time.ts";

const vault: VaultSource = {
  address: "https://vault.test",
  path: "a",
  field: "value",
  mount: "secret",
  auth_method: "token",
  kv_version: 2,
  timeout_seconds: 1,
};
const plainVault: RemoteSource = { type: "vault", vault };
const sources: readonly RemoteSource[] = [
  plainVault,
  { type: "vault", vault: { ...vault, kv_version: 1, auth_method: "approle" } },
  { type: "aws", aws: { secret_id: "a", region: "eu-test-1" } },
  { type: "aws", aws: { secret_id: "a", region: "eu-test-1", field: "value" } },
  { type: "azure", azure: { vault_url: "https://a.test", name: "a" } },
  { type: "azure", azure: { vault_url: "https://a.test", name: "a", field: "value" } },
];
const env = {
  VAULT_TOKEN: "t",
  VAULT_ROLE_ID: "r",
  VAULT_SECRET_ID: "s",
  HOME: "/nonexistent",
  AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1/",
  AWS_EC2_METADATA_DISABLED: "true",
  AZURE_TENANT_ID: "t",
  AZURE_CLIENT_ID: "c",
  AZURE_CLIENT_SECRET: "s",
};

// Members that the protocols know, so that many answers get far.
const keys = fc.constantFrom(
  "data",
  "value",
  "auth",
  "client_token",
  "SecretString",
  "access_token",
  "Token",
  "error",
  "AccessKeyId",
  "SecretAccessKey",
  "__proto__",
  "constructor",
  "__type",
  "code",
);
const { tree: answer } = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.constant('{"value":"inner"}'),
    fc.jsonValue(),
  ),
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie("leaf"),
    fc.dictionary(keys, tie("tree"), { noNullPrototype: true }),
  ),
}));
const status = fc.constantFrom(200, 200, 200, 200, 204, 301, 400, 403, 404);

test("any answer ends in text of its own or in a refusal that names the source", async () => {
  let given = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...sources),
      fc.array(fc.tuple(status, answer), { minLength: 1, maxLength: 4 }),
      async (source, answers) => {
        let turn = 0;
        const sent: string[] = [];
        const ask: Ask = async () => {
          const [code, body] = answers[turn++ % answers.length] ?? [200, ""];
          const text = typeof body === "string" ? body : JSON.stringify(body);
          sent.push(text);
          return { status: code, octets: Buffer.from(text) };
        };
        const deps = { ask, env, now: () => instant(0), trust: () => [] };
        const secret = await fetchSecret(source, deps).catch((error: unknown) => {
          if (error instanceof SecretUnavailable) return error;
          throw error;
        });
        if (secret instanceof SecretUnavailable) expect(secret.message).toMatch(/^The secret /);
        else expect(sent.some((text) => holds(text, secret))).toBe(true);
        if (typeof secret === "string") given += 1;
        expect(sent.length).toBeLessThanOrEqual(4);
      },
    ),
    // The dice alone may give nothing but refusals.
    { numRuns: 3000, examples: [[plainVault, [[200, { data: { data: { value: "secret" } } }]]]] },
  );
  // Otherwise nothing was tried but refusals.
  expect(given).toBeGreaterThan(0);
});

/**
 * True when the text is the secret, or JSON that has it as a member at any depth, also as JSON in
 * text.
 */
function holds(text: string, secret: string): boolean {
  if (text.replace(/\r?\n$/, "") === secret) return true;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "string") return holds(value, secret);
    if (typeof value !== "object" || value === null) return false;
    return Object.values(value).some((one) =>
      holds(typeof one === "string" ? one : JSON.stringify(one), secret),
    );
  } catch {
    return false; // No JSON: it is only itself.
  }
}

test("what Vault says for itself is told, on one line, unless it repeats what was sent", async () => {
  const told = async (errors: unknown, token = "hvs.secret") => {
    const ask: Ask = async () => ({
      status: 403,
      octets: Buffer.from(JSON.stringify({ errors })),
    });
    const deps = { ask, env: { VAULT_TOKEN: token }, now: () => instant(0), trust: () => [] };
    const failed = await fetchSecret({ type: "vault", vault }, deps).catch((error) => error);
    return String(failed.message);
  };
  expect(await told(["permission denied", "no policy\n\u001b[31m grants it"])).toContain(
    "answered 403: it does not let us (permission denied; no policy [31m grants it)",
  );
  for (const nothing of [[], "text", undefined, [1], ["bad token hvs.secret"]]) {
    expect(await told(nothing)).toContain("answered 403: it does not let us");
    expect(await told(nothing)).not.toContain("hvs.secret");
  }
  expect((await told(["x".repeat(5000)])).length).toBeLessThan(500);
  // Also where the cut would leave its beginning, and where cleaning would change it.
  expect(await told([`${"x".repeat(294)}hvs.secret`])).not.toContain("hvs.");
  expect(await told(["bad token hvs.s\u00e9cret"], "hvs.s\u00e9cret")).not.toContain("hvs.");
});
