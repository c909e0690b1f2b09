/** Opens what `publish` names: a directory, or a bucket with the credentials its sources keep. */

import { resolve } from "node:path";

import type { SecretSetting, Secrets } from "#config/secret.ts";
import { SecretUnavailable } from "#config/secret.ts";
import { type PublishTarget, TargetFault } from "#domain/publishing/target.ts";
import { directoryTarget } from "./directory.ts";
import { type S3Credentials, type S3Place, s3Target } from "./s3.ts";

/** `publish`, as far as the target goes. */
export interface PublishSection {
  readonly enabled: boolean;
  readonly dir: { readonly path: string | undefined; readonly keep_snapshots: number };
  readonly s3: Omit<S3Place, "bucket"> & {
    readonly bucket: string | undefined;
    readonly access_key_id: string | undefined;
    readonly secret_access_key: SecretSetting | undefined;
    readonly session_token: SecretSetting | undefined;
  };
}

/** The configured target; undefined while nothing is published. Nothing is asked of it yet. */
export function openTarget(
  { enabled, dir, s3 }: PublishSection,
  secrets: Secrets,
): PublishTarget | undefined {
  if (!enabled) return undefined;
  const { path, keep_snapshots } = dir;
  if (path !== undefined) return directoryTarget({ path, keep_snapshots });
  const { bucket, access_key_id: accessKeyId } = s3;
  if (bucket === undefined || accessKeyId === undefined) return undefined;
  const credentials = () => credentialsOf(accessKeyId, s3, secrets);
  return s3Target({ ...s3, bucket, credentials, timeoutSeconds: 60 });
}

/** Opens a directory that is asked for by its path. */
export const openDirectoryTarget =
  ({ dir: { keep_snapshots } }: Pick<PublishSection, "dir">) =>
  (path: string): PublishTarget =>
    directoryTarget({ path: resolve(path), keep_snapshots });

/**
 * Asked for at every snapshot; fails it when they cannot be had. `section` is where they are set.
 */
export async function credentialsOf(
  accessKeyId: string,
  { secret_access_key, session_token }: PublishSection["s3"],
  secrets: Secrets,
  section = "publish.s3",
): Promise<S3Credentials> {
  try {
    const [secretAccessKey, sessionToken] = [
      await secrets.recent(`${section}.secret_access_key`, secret_access_key),
      await secrets.recent(`${section}.session_token`, session_token),
    ];
    return { accessKeyId, secretAccessKey: secretAccessKey ?? "", sessionToken };
  } catch (error) {
    if (error instanceof SecretUnavailable) throw new TargetFault(error.message);
    throw error;
  }
}
