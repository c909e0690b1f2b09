/**
 * Finds the access key of this workload where AWS's own tools look for it, in their order; the
 * first place that has one counts.
 */

import { homedir } from "node:os";
import { join } from "node:path";

import { type Profile, profileIn } from "#core/aws/profiles.ts";
import type { AwsCredentials } from "#core/aws/signature.ts";

import { type Attempt, headerText, type Json, objectOf, textAt } from "./attempt.ts";
import { readMounted } from "./local.ts";
import { SourceFault } from "./unavailable.ts";

/** What AWS is asked with. */
export interface AwsIdentity {
  readonly region: string;
  readonly credentials: AwsCredentials;
}

/** The variables the chain looks at. */
export const awsVariables = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_PROFILE",
  "AWS_REGION",
  "AWS_DEFAULT_REGION",
  "AWS_SHARED_CREDENTIALS_FILE",
  "AWS_CONFIG_FILE",
  "AWS_ROLE_ARN",
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_ROLE_SESSION_NAME",
  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
  "AWS_EC2_METADATA_DISABLED",
  "AWS_EC2_METADATA_SERVICE_ENDPOINT",
  "AWS_ENDPOINT_URL",
  "AWS_ENDPOINT_URL_SECRETS_MANAGER",
  "AWS_ENDPOINT_URL_STS",
] as const;

/**
 * Region and access key; throws `SourceFault` when there is no region, no key, or a place that has
 * one fails.
 */
export async function awsIdentity(
  configuredRegion: string | undefined,
  attempt: Attempt,
): Promise<AwsIdentity> {
  const profile = profileOf(attempt);
  const region =
    configuredRegion ??
    attempt.variable("AWS_REGION") ??
    attempt.variable("AWS_DEFAULT_REGION") ??
    profile.region;
  if (region === undefined || !/^[a-z0-9-]{1,32}$/.test(region)) {
    throw new SourceFault("no region is known; set aws.region");
  }
  const credentials =
    ofEnvironment(attempt) ??
    (await ofWebIdentity(region, attempt, environmentRole(attempt))) ??
    (await ofProfile(region, attempt, profile)) ??
    (await ofContainer(attempt)) ??
    (await ofInstance(attempt));
  return { region, credentials };
}

/** The address of a service: the one that stands in the environment, else AWS's own. */
export function awsEndpoint(
  service: "secretsmanager" | "sts",
  region: string,
  attempt: Attempt,
): string {
  const name = service === "sts" ? "STS" : "SECRETS_MANAGER";
  const given =
    attempt.variable(`AWS_ENDPOINT_URL_${name}`) ?? attempt.variable("AWS_ENDPOINT_URL");
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return given?.replace(/\/+$/, "") ?? `https://${service}.${region}.${domain}`;
}

function ofEnvironment(attempt: Attempt): AwsCredentials | undefined {
  const accessKeyId = attempt.variable("AWS_ACCESS_KEY_ID");
  const secretAccessKey = attempt.variable("AWS_SECRET_ACCESS_KEY");
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken: attempt.variable("AWS_SESSION_TOKEN") };
}

/** A role that is taken on by showing the token the platform mounts. */
interface WebIdentity {
  readonly role: string;
  readonly token: string;
  readonly session: string;
}

function environmentRole(attempt: Attempt): WebIdentity | undefined {
  const role = attempt.variable("AWS_ROLE_ARN");
  const token = attempt.mounted("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (role === undefined || token === undefined) return undefined;
  return { role, token, session: attempt.variable("AWS_ROLE_SESSION_NAME") ?? "pkid" };
}

/**
 * AssumeRoleWithWebIdentity of the Security Token Service: the one call that takes no signature.
 */
async function ofWebIdentity(
  region: string,
  attempt: Attempt,
  identity: WebIdentity | undefined,
): Promise<AwsCredentials | undefined> {
  if (identity === undefined) return undefined;
  const who = "the token service";
  const answer = await attempt.text({
    who,
    url: `${awsEndpoint("sts", region, attempt)}/`,
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      RoleArn: identity.role,
      RoleSessionName: identity.session,
      WebIdentityToken: identity.token,
    }).toString(),
    word: (text) => (typeof text === "string" ? element(text, "Code") : undefined),
  });
  const [accessKeyId, secretAccessKey, sessionToken] = [
    ...["AccessKeyId", "SecretAccessKey", "SessionToken"].map((name) => element(answer, name)),
  ];
  if (accessKeyId && secretAccessKey && sessionToken) {
    return checked({ accessKeyId, secretAccessKey, sessionToken });
  }
  throw new SourceFault(`the answer of ${who} has no credentials`);
}

/** Keys and codes have no character that XML would escape. */
const element = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>\\s*([A-Za-z0-9+/=._-]{1,8192})\\s*</${name}>`).exec(xml)?.[1];

/** Both files; what the credentials file says counts more. */
function profileOf(attempt: Attempt): Profile {
  const name = attempt.variable("AWS_PROFILE");
  const home = join(attempt.variable("HOME") ?? homedir(), ".aws");
  const files = [
    ["config", attempt.variable("AWS_CONFIG_FILE") ?? join(home, "config")],
    ["credentials", attempt.variable("AWS_SHARED_CREDENTIALS_FILE") ?? join(home, "credentials")],
  ] as const;
  const found = files.flatMap(([kind, path]) => {
    const profile = profileIn(readMounted(path) ?? "", name ?? "default", kind);
    return profile === undefined ? [] : [profile];
  });
  if (found.length === 0 && name !== undefined) {
    throw new SourceFault(`there is no profile ${name}, which AWS_PROFILE names`);
  }
  return Object.assign({}, ...found);
}

async function ofProfile(
  region: string,
  attempt: Attempt,
  profile: Profile,
): Promise<AwsCredentials | undefined> {
  const { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey } = profile;
  if (accessKeyId && secretAccessKey) {
    return { accessKeyId, secretAccessKey, sessionToken: profile.aws_session_token || undefined };
  }
  const { role_arn: role, web_identity_token_file: file } = profile;
  if (role && file) {
    const token = readMounted(file)?.trim();
    if (!token) throw new SourceFault(`the file ${file}, which the profile names, cannot be read`);
    const session = profile.role_session_name || "pkid";
    return await ofWebIdentity(region, attempt, { role, token, session });
  }
  const other = ["source_profile", "credential_source", "credential_process", "sso_session"].find(
    (key) => profile[key],
  );
  if (other === undefined) return undefined;
  throw new SourceFault(`the profile gets its key by ${other}, which is not supported`);
}

/** ECS, EKS and what imitates them: an address on the host's own link, or of this machine. */
async function ofContainer(attempt: Attempt): Promise<AwsCredentials | undefined> {
  const relative = attempt.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const full = attempt.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const url = relative === undefined ? full : `http://169.254.170.2${relative}`;
  if (url === undefined) return undefined;
  const token =
    attempt.mounted("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") ??
    attempt.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const who = "the container's credential service";
  const authorization = token && headerText(token, "the token of the container");
  const headers = authorization === undefined ? {} : { authorization };
  return ofAnswer(await attempt.json({ who, url, headers, metadata: true }), who);
}

/** IMDSv2: a token first, which whoever can only have this host send a GET does not get. */
async function ofInstance(attempt: Attempt): Promise<AwsCredentials> {
  if (attempt.variable("AWS_EC2_METADATA_DISABLED")?.toLowerCase() === "true") {
    throw new SourceFault("there is no access key in any place of the credential chain");
  }
  const who = "no other place has an access key, and the instance metadata service";
  const given = attempt.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  const base = `${given?.replace(/\/+$/, "") ?? "http://169.254.169.254"}/latest`;
  const token = await attempt.text({
    who,
    url: `${base}/api/token`,
    method: "PUT",
    metadata: true,
    headers: { "x-aws-ec2-metadata-token-ttl-seconds": "60" },
  });
  const headers = { "x-aws-ec2-metadata-token": headerText(token, "the metadata token") };
  const url = `${base}/meta-data/iam/security-credentials/`;
  const [role = ""] = (await attempt.text({ who, url, headers, metadata: true })).split("\n");
  const request = { who, url: url + encodeURIComponent(role.trim()), headers, metadata: true };
  return ofAnswer(await attempt.json(request), "the instance metadata service");
}

function ofAnswer(answer: Json, who: string): AwsCredentials {
  const of = objectOf(answer);
  return checked({
    accessKeyId: textAt(of, "AccessKeyId", who),
    secretAccessKey: textAt(of, "SecretAccessKey", who),
    sessionToken: textAt(of, "Token", who),
  });
}

/** Both go into headers. */
function checked(credentials: AwsCredentials & { readonly sessionToken: string }): AwsCredentials {
  headerText(credentials.accessKeyId, "the access key");
  headerText(credentials.sessionToken, "the session token");
  return credentials;
}
