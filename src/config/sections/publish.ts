/** Settings of static publishing. */

import { baseUrl, count, field, flag, list, path, text, written } from "#config/fields.ts";
import { secret } from "#config/secret-field.ts";
import { derived, section } from "#config/section.ts";
import { label, textual } from "#core/shape/texts.ts";

const prefix = textual("object prefix", "pki", {
  pattern: /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/,
  max: 256,
  wants: "Must be names joined by slashes, without one at either end.",
});

/** What an S3-compatible store is reached by. */
export const s3Members = {
  endpoint: baseUrl("Address of the store; unset means AWS."),
  region: text("Region of the bucket.", "us-east-1"),
  bucket: text("Name of the bucket."),
  prefix: field("Name before every object.", prefix),
  access_key_id: text("Access key id."),
  secret_access_key: secret("Secret access key."),
  session_token: secret("Session token of temporary credentials."),
  force_path_style: flag("Name the bucket in the path and not in the host.", false),
  concurrency: count("Requests at once.", 8, { min: 1, max: 64 }),
} as const;

/** The keys under `publish`. */
export const publish = section("Static publishing", {
  enabled: flag("Publish certificates, CRLs and OCSP answers for others to serve.", false),
  interval_minutes: count(
    "Minutes between snapshots; lists and revocations in between are published at once.",
    derived("`presign.refresh_minutes` with presigning, else 60", (of) =>
      of("presign.enabled") === true ? Number(of("presign.refresh_minutes")) : 60,
    ),
    { min: 1, max: 10_080 },
  ),
  cas: list(
    "Ids or labels of the CAs to publish, each with its lineage; none means all.",
    label,
    [],
  ),
  include_ocsp: flag("Publish the OCSP answers signed ahead too; needs `presign.enabled`.", false),
  dir: section("Into a directory", {
    path: written("public directory", path("Directory; relying parties are served its `current`.")),
    keep_snapshots: count("Newest snapshots that stay.", 3, { min: 1, max: 1000 }),
  }),
  s3: section("Into an S3-compatible store", s3Members),
});
