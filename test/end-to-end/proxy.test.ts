/**
 * Calls of the binary to other servers go through the configured proxy, and its password is shown
 * to nobody.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { selfSigned } from "#test/support/encodings/openssl.ts";

const name = "id.pkid.test";
const password = "proxy-s3cret";
let home: string;
let provider: Bun.Server<undefined>;
let proxy: Server;
let proxyPort = 0;
const asked: string[] = [];

beforeAll(async () => {
  home = newHome();
  const { cert, key } = selfSigned(`DNS:${name}`);
  writeFileSync(join(home, "idp.pem"), cert);
  provider = Bun.serve({ hostname: "127.0.0.1", port: 0, tls: { cert, key }, fetch: discovery });
  proxy = createServer((client) => {
    client.on("error", () => client.destroy());
    client.once("data", (first) => {
      const head = first.toString();
      const target = /^CONNECT (\S+) /.exec(head)?.[1] ?? "";
      const shown = /proxy-authorization: Basic (\S+)/i.exec(head)?.[1] ?? "";
      asked.push(target);
      if (Buffer.from(shown, "base64").toString() !== `us:${password}`) {
        return client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      }
      const server = connect(provider.port ?? 0, "127.0.0.1", () => {
        client.write("HTTP/1.1 200 OK\r\n\r\n");
        server.pipe(client).pipe(server);
      });
      server.on("error", () => client.destroy());
      client.on("close", () => server.destroy());
      return undefined;
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  proxyPort = typeof address === "object" ? (address?.port ?? 0) : 0;
});

afterAll(async () => {
  await provider.stop(true);
  proxy.close();
});

function discovery(): Response {
  const issuer = `https://${name}`;
  return Response.json({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    scopes_supported: ["openid", "profile", "email"],
  });
}

const configured = (credentials: string) => ({
  outbound: {
    ca_file: join(home, "idp.pem"),
    proxy_url: `http://${credentials}@127.0.0.1:${proxyPort}`,
  },
  auth: {
    oidc: {
      enabled: true,
      issuer_url: `https://${name}`,
      client_id: "pkid",
      client_secret: "x",
      redirect_url: "https://pkid.test/auth/callback",
      role_mappings: [{ value: "ops", roles: ["auditor"] }],
    },
  },
});

test("a provider that only the proxy can reach is reached, and the password stays hidden", async () => {
  const instance = await Instance.start({ home, config: configured(`us:${password}`) });
  try {
    const answer = await instance.fetch("/auth/login", { redirect: "manual" });
    expect(answer.status).toBe(302);
    expect(answer.headers.get("location")).toStartWith(`https://${name}/authorize?`);
    expect(asked).toContain(`${name}:443`);
    expect(instance.logs.join("\n")).not.toContain(password);
    const shown = await runCli(home, ["config", "show"]);
    expect(shown.stdout).toContain(`http://us:***@127.0.0.1:${proxyPort}`);
    expect(shown.stdout).not.toContain(password);
  } finally {
    await instance.stop();
  }
});

test("a proxy that refuses us keeps the login away and nothing else", async () => {
  const instance = await Instance.start({ home, config: configured("us:wrong") });
  try {
    const answer = await instance.fetch("/auth/login", { redirect: "manual" });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect((await instance.fetch("/healthz")).status).toBe(200);
  } finally {
    await instance.stop();
  }
});

test("a proxy's address with a path or of another kind stops the start", async () => {
  for (const [url, sentence] of [
    ["socks5://127.0.0.1:1", "outbound.proxy_url: Must be an http or https URL."],
    ["http://127.0.0.1:1/x", "outbound.proxy_url: Must name scheme, host and port only"],
  ] as const) {
    const elsewhere = newHome();
    writeConfig(elsewhere, { outbound: { proxy_url: url } });
    const checked = await runCli(elsewhere, ["config", "check"]);
    expect(checked.code).toBe(1);
    expect(checked.stderr).toContain(sentence);
  }
});
