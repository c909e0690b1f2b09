/** Static publishing, put together from the settings. */

import { resolve } from "node:path";

import { directoryTarget } from "#adapters/publish/directory.ts";
import { type S3Credentials, s3Target } from "#adapters/publish/s3.ts";
import type { SecretSources } from "#adapters/secrets/sources.ts";
import { SecretUnavailable } from "#adapters/secrets/unavailable.ts";
import type { Config } from "#config/schema.ts";
import type { ArtefactDeps } from "#domain/publishing/artefacts.ts";
import { Publishing } from "#domain/publishing/publish.ts";
import { type PublishTarget, TargetFault } from "#domain/publishing/target.ts";
import type { Random } from "#domain/ports.ts";

/** Opens it; nothing is asked of the target before the first snapshot. */
export function openPublishing(
  { publish }: Config,
  parts: ArtefactDeps & { readonly random: Random; readonly secrets: SecretSources },
): Publishing {
  const { keep_snapshots: keepSnapshots } = publish.dir;
  return new Publishing({
    ...parts,
    target: publish.enabled ? targetOf(publish, parts.secrets) : undefined,
    directory: (path) => directoryTarget({ path: resolve(path), keepSnapshots }),
    only: publish.cas,
    includeOcsp: publish.include_ocsp,
    changedMax: 20_000,
  });
}

/** The configured target; undefined while there is none. */
export function targetOf(
  { dir, s3 }: Config["publish"],
  secrets: SecretSources,
): PublishTarget | undefined {
  const { bucket, access_key_id: accessKeyId } = s3;
  if (dir.path !== undefined)
    return directoryTarget({ path: dir.path, keepSnapshots: dir.keep_snapshots });
  if (bucket === undefined || accessKeyId === undefined) return undefined;
  return s3Target({
    endpoint: s3.endpoint,
    region: s3.region,
    bucket,
    prefix: s3.prefix ?? "",
    credentials: () => credentialsOf(accessKeyId, s3, secrets),
    forcePathStyle: s3.force_path_style,
    concurrency: s3.concurrency,
    timeoutSeconds: 60,
  });
}

/** Asked for at every snapshot; fails it when they cannot be had. */
async function credentialsOf(
  accessKeyId: string,
  { secret_access_key, session_token }: Config["publish"]["s3"],
  secrets: SecretSources,
): Promise<S3Credentials> {
  try {
    const [secretAccessKey, sessionToken] = [
      await secrets.recent("publish.s3.secret_access_key", secret_access_key),
      await secrets.recent("publish.s3.session_token", session_token),
    ];
    return { accessKeyId, secretAccessKey: secretAccessKey ?? "", sessionToken };
  } catch (error) {
    if (error instanceof SecretUnavailable) throw new TargetFault(error.message);
    throw error;
  }
}
