/**
 * A small Vault, AWS and Azure on loopback over TLS, as far as secrets are fetched from them: the
 * clouds cannot be had in a test. Tokens, logins and signatures are really checked. Their metadata
 * services are beside it, in clear, as they are.
 */

import { createHash, createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { selfSigned } from "#test/support/encodings/openssl.ts";

/** One request as it came. */
export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

export interface SecretServer {
  /** Base address over TLS, and in clear for what is metadata. */
  readonly url: string;
  readonly metadataUrl: string;
  /** File with the certificate to trust. */
  readonly caFile: string;
  /** A directory that goes with the server. */
  readonly folder: string;
  /**
   * Members of Vault's secrets by mount and path; the mount `kv` is of version 1, every other of
   * version 2.
   */
  readonly vault: Map<string, unknown>;
  readonly aws: Map<string, string>;
  /** By name, or by name and version. */
  readonly azure: Map<string, string>;
  readonly asked: Asked[];
  /** Answers in place of the service, or lets it answer. */
  before: (asked: Asked) => Response | undefined | Promise<Response | undefined>;
  stop(): void;
}

export const vaultToken = "hvs.SecretToken-of-vault-01";
export const roleId = "role-of-pkid";
export const roleSecret = "SecretOf-the-role-02";
export const awsKey = { id: "AKIATEST", secret: "SecretKey/of+aws-03" };
export const temporaryKey = {
  id: "ASIATEST",
  secret: "SecretKey/temporary-04",
  token: "SessionToken-05",
};
export const webToken = "web-identity-token-06";
export const azureClient = { tenant: "tenant-1", id: "client-1", secret: "SecretOf-the-client-07" };
export const azureToken = "access-token-of-azure-08";
export const identityHeader = "identity-header-09";
/** None of them is ever shown. */
export const unspeakable = [
  vaultToken,
  roleSecret,
  awsKey.secret,
  temporaryKey.secret,
  temporaryKey.token,
  webToken,
  azureClient.secret,
  azureToken,
  identityHeader,
];

/** Starts it. */
export function startSecretServer(): SecretServer {
  const folder = mkdtempSync(join(tmpdir(), "pkid-secrets-"));
  const { cert, key } = selfSigned();
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, cert);
  const open = (handle: (asked: Asked) => Response, tls?: { cert: string; key: string }) =>
    Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      development: false,
      ...(tls ? { tls } : {}),
      fetch: async (request) => {
        const asked: Asked = {
          method: request.method,
          url: new URL(request.url),
          headers: request.headers,
          body: await request.text(),
        };
        server.asked.push(asked);
        return (await server.before(asked)) ?? handle(asked);
      },
    });
  const main = open((asked) => served(server, asked), { cert, key });
  const metadata = open(metadataOf);
  const server: SecretServer = {
    url: `https://127.0.0.1:${main.port}`,
    metadataUrl: `http://127.0.0.1:${metadata.port}`,
    caFile,
    folder,
    vault: new Map(),
    aws: new Map(),
    azure: new Map(),
    asked: [],
    before: () => undefined,
    stop: () => {
      void main.stop(true);
      void metadata.stop(true);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return server;
}

function served(server: SecretServer, asked: Asked): Response {
  const { pathname } = asked.url;
  if (pathname.startsWith("/v1/")) return vault(server, asked, pathname.slice(4));
  if (pathname.startsWith("/secrets/")) return keyVault(server, asked, pathname.slice(9));
  if (pathname.endsWith("/oauth2/v2.0/token")) return login(asked);
  if (asked.headers.has("x-amz-target")) return storedInAws(server, asked);
  return tokenService(asked);
}

function vault({ vault: secrets }: SecretServer, asked: Asked, path: string): Response {
  if (path === "auth/approle/login") {
    const { role_id, secret_id } = JSON.parse(asked.body);
    if (role_id !== roleId || secret_id !== roleSecret) return vaultRefusal(400);
    return Response.json({ auth: { client_token: vaultToken, lease_duration: 3600 } });
  }
  if (asked.headers.get("x-vault-token") !== vaultToken) return vaultRefusal(403);
  if (path === "auth/token/revoke-self") return new Response(null, { status: 204 });
  const [mount = "", ...rest] = path.split("/").map(decodeURIComponent);
  const old = mount === "kv";
  if (!old && rest.shift() !== "data") return vaultRefusal(404);
  const members = secrets.get([mount, ...rest].join("/"));
  if (members === undefined) return vaultRefusal(404);
  return Response.json(
    old ? { data: members } : { data: { data: members, metadata: { version: 3 } } },
  );
}

const vaultRefusal = (status: number) =>
  Response.json({ errors: ["permission denied"] }, { status });

function storedInAws({ aws }: SecretServer, asked: Asked): Response {
  const problem = (status: number, type: string) =>
    Response.json({ __type: `com.amazonaws.secretsmanager#${type}` }, { status });
  const key = [awsKey, temporaryKey].find(({ id }) =>
    asked.headers.get("authorization")?.includes(`Credential=${id}/`),
  );
  if (key === undefined) return problem(400, "UnrecognizedClientException");
  if ("token" in key && asked.headers.get("x-amz-security-token") !== key.token) {
    return problem(400, "InvalidSignatureException");
  }
  if (!rightlySigned(asked, key.secret)) return problem(400, "InvalidSignatureException");
  if (asked.headers.get("x-amz-target") !== "secretsmanager.GetSecretValue") {
    return problem(400, "UnknownOperationException");
  }
  const name: string = JSON.parse(asked.body).SecretId;
  const secret = aws.get(name);
  if (secret === undefined) return problem(400, "ResourceNotFoundException");
  if (secret === "\0") return Response.json({ Name: name, SecretBinary: "AAE=" });
  return Response.json({ Name: name, SecretString: secret, VersionId: "1" });
}

/** Computes the signature anew from what came over the wire, by the documented steps. */
function rightlySigned({ method, url, headers, body }: Asked, secret: string): boolean {
  const authorization = headers.get("authorization") ?? "";
  const field = (name: string) => new RegExp(`${name}=([^, ]+)`).exec(authorization)?.[1] ?? "";
  const [, day = "", region = "", service = "", end = ""] = field("Credential").split("/");
  const date = headers.get("x-amz-date") ?? "";
  const minutes =
    Math.abs(Date.now() - Date.parse(date.replace(dateParts, "$1-$2-$3T$4:$5:$6Z"))) / 60_000;
  if (region !== "eu-test-1" || service !== "secretsmanager" || !(minutes < 5)) return false;
  const names = field("SignedHeaders").split(";");
  const needed = ["host", "x-amz-date", "x-amz-target"];
  if (needed.some((name) => !names.includes(name))) return false;
  const lines = names.map((name) => `${name}:${headers.get(name) ?? ""}\n`).join("");
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  const canonical = [method, url.pathname, "", lines, names.join(";"), hash(body)].join("\n");
  const scope = [day, region, service, end].join("/");
  const text = ["AWS4-HMAC-SHA256", date, scope, hash(canonical)].join("\n");
  const mac = (key: Buffer | string, part: string) =>
    createHmac("sha256", key).update(part).digest();
  const key = mac(mac(mac(mac(`AWS4${secret}`, day), region), service), end);
  return mac(key, text).toString("hex") === field("Signature");
}

function tokenService({ body }: Asked): Response {
  const form = new URLSearchParams(body);
  const right =
    form.get("Action") === "AssumeRoleWithWebIdentity" &&
    form.get("WebIdentityToken") === webToken &&
    form.get("RoleArn") === "arn:aws:iam::1:role/pkid";
  if (!right) {
    const error = "<Error><Type>Sender</Type><Code>InvalidIdentityToken</Code></Error>";
    return new Response(`<ErrorResponse>${error}</ErrorResponse>`, { status: 400 });
  }
  const { id, secret, token } = temporaryKey;
  const keys = `<AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey>`;
  return new Response(
    `<R><Credentials>${keys}<SessionToken>${token}</SessionToken></Credentials></R>`,
  );
}

function keyVault({ azure }: SecretServer, { headers, url }: Asked, path: string): Response {
  const problem = (status: number, code: string) => Response.json({ error: { code } }, { status });
  if (headers.get("authorization") !== `Bearer ${azureToken}`) return problem(401, "Unauthorized");
  if (!url.searchParams.has("api-version")) return problem(400, "BadParameter");
  const secret = azure.get(path.replace(/\/$/, ""));
  if (secret === undefined) return problem(404, "SecretNotFound");
  return Response.json({ value: secret, id: url.href });
}

function login({ url, body }: Asked): Response {
  const form = new URLSearchParams(body);
  const proven =
    form.get("client_secret") === azureClient.secret ||
    (form.get("client_assertion") === webToken &&
      form.get("client_assertion_type") ===
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
  const right =
    proven &&
    url.pathname === `/${azureClient.tenant}/oauth2/v2.0/token` &&
    form.get("client_id") === azureClient.id &&
    form.get("scope") === "https://vault.azure.net/.default";
  if (!right) return Response.json({ error: "invalid_client" }, { status: 401 });
  return Response.json({ access_token: azureToken, token_type: "Bearer", expires_in: 3599 });
}

/** The services a host finds on its own link. */
function metadataOf({ method, url, headers }: Asked): Response {
  const { id, secret, token } = temporaryKey;
  const credentials = { AccessKeyId: id, SecretAccessKey: secret, Token: token, Code: "Success" };
  const refusal = new Response("no", { status: 401 });
  if (url.pathname === "/latest/api/token")
    return method === "PUT" ? new Response("imds") : refusal;
  if (url.pathname.startsWith("/latest/meta-data/iam/security-credentials/")) {
    if (headers.get("x-aws-ec2-metadata-token") !== "imds") return refusal;
    return url.pathname.endsWith("/") ? new Response("pkid-role\n") : Response.json(credentials);
  }
  if (url.pathname === "/container") {
    return headers.get("authorization") === webToken ? Response.json(credentials) : refusal;
  }
  const resource = url.searchParams.get("resource") === "https://vault.azure.net";
  const machine =
    url.pathname === "/metadata/identity/oauth2/token" && headers.get("metadata") === "true";
  const app = url.pathname === "/msi" && headers.get("x-identity-header") === identityHeader;
  return resource && (machine || app) ? Response.json({ access_token: azureToken }) : refusal;
}

const dateParts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
