/** Static publishing, put together from the settings. */

import { resolve } from "node:path";

import { directoryTarget } from "#adapters/publish/directory.ts";
import { s3Target } from "#adapters/publish/s3.ts";
import type { Config } from "#config/schema.ts";
import type { ArtefactDeps } from "#domain/publishing/artefacts.ts";
import { Publishing } from "#domain/publishing/publish.ts";
import type { PublishTarget } from "#domain/publishing/target.ts";
import type { Random } from "#domain/ports.ts";
import { revealed } from "./settings.ts";

/** Opens it; nothing is asked of the target before the first snapshot. */
export function openPublishing(
  { publish }: Config,
  parts: ArtefactDeps & { readonly random: Random },
): Publishing {
  const { keep_snapshots: keepSnapshots } = publish.dir;
  return new Publishing({
    ...parts,
    target: publish.enabled ? targetOf(publish) : undefined,
    directory: (path) => directoryTarget({ path: resolve(path), keepSnapshots }),
    ...{ only: publish.cas, includeOcsp: publish.include_ocsp },
  });
}

/** The configured target; undefined while there is none. */
export function targetOf({ dir, s3 }: Config["publish"]): PublishTarget | undefined {
  const { bucket, access_key_id: accessKeyId } = s3;
  if (dir.path !== undefined)
    return directoryTarget({ path: dir.path, keepSnapshots: dir.keep_snapshots });
  const secretAccessKey = revealed(s3.secret_access_key);
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return undefined;
  return s3Target({
    ...{ endpoint: s3.endpoint, region: s3.region, bucket, prefix: s3.prefix ?? "" },
    ...{ accessKeyId, secretAccessKey, sessionToken: revealed(s3.session_token) },
    ...{ forcePathStyle: s3.force_path_style, concurrency: s3.concurrency, timeoutSeconds: 60 },
  });
}
