/** Reads secrets of AWS Secrets Manager. */

import type { AwsSource } from "#config/secret.ts";
import { signedHeaders } from "#core/aws/signature.ts";

import { type Attempt, memberOf, objectOf } from "./attempt.ts";
import { awsEndpoint, awsIdentity } from "./aws-credentials.ts";
import { SourceFault } from "./unavailable.ts";

/** The secret's current version, or the member of it that is wanted; throws `SourceFault`. */
export async function fromAws(source: AwsSource, attempt: Attempt): Promise<string> {
  const { region, credentials } = await awsIdentity(source.region, attempt);
  const url = `${awsEndpoint("secretsmanager", region, attempt)}/`;
  const body = JSON.stringify({ SecretId: source.secret_id });
  const headers = {
    "content-type": "application/x-amz-json-1.1",
    "x-amz-target": "secretsmanager.GetSecretValue",
  };
  const scope = { service: "secretsmanager", region, at: attempt.now() };
  const { SecretString: secret } = await attempt.json({
    who: "the service",
    url,
    method: "POST",
    body,
    headers: signedHeaders({ method: "POST", url, headers, body }, credentials, scope),
    word: (answer) => String(objectOf(answer)?.__type ?? "").replace(/^.*#/, ""),
  });
  if (typeof secret === "string") return memberOf(secret, source.field);
  throw new SourceFault("it is binary and no text");
}
