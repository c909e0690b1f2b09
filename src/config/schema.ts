/** WHAT CAN BE SET: every key of the configuration, declared once. */

import { path, written } from "./fields.ts";
import { section, type Values } from "./section.ts";
import { acme } from "#config/sections/acme.ts";
import { auth, oidc, policy, rbac, rootUser } from "#config/sections/access.ts";
import { approvals } from "#config/sections/approvals.ts";
import { canary } from "#config/sections/canary.ts";
import { database } from "#config/sections/database.ts";
import { caa, issuance, keychecks, profiles } from "#config/sections/issuance.ts";
import { keyProvider, pkcs11, secretSection } from "#config/sections/keys.ts";
import { rateLimit } from "#config/sections/limits.ts";
import { accessLog, log } from "#config/sections/log.ts";
import { crl, ocsp } from "#config/sections/revocation.ts";
import { monitor } from "#config/sections/monitor.ts";
import { outbound } from "#config/sections/outbound.ts";
import { presign } from "#config/sections/presign.ts";
import { backup } from "#config/sections/backup.ts";
import { retention } from "#config/sections/retention.ts";
import { publish } from "#config/sections/publish.ts";
import { rpc } from "#config/sections/rpc.ts";
import { server } from "#config/sections/server.ts";
import { tenants } from "#config/sections/tenants.ts";
import { certificateTransparency } from "#config/sections/transparency.ts";

/**
 * The root of the declaration; loading, reference, example, schema and redaction are derived from
 * it (CFG-9).
 */
export const configSchema = section("pkid configuration", {
  data_dir: written(
    "private directory",
    path("Directory of the database, keys, lock and sockets; made with mode 0700.", "./pkid-data"),
  ),
  server,
  rpc,
  outbound,
  log,
  access_log: accessLog,
  database,
  root_user: rootUser,
  policy,
  oidc,
  auth,
  rbac,
  tenants,
  key_provider: keyProvider,
  pkcs11,
  secret: secretSection,
  issuance,
  profiles,
  caa,
  keychecks,
  certificate_transparency: certificateTransparency,
  crl,
  ocsp,
  presign,
  publish,
  backup,
  retention,
  canary,
  monitor,
  acme,
  rate_limit: rateLimit,
  approvals,
});

/** The effective configuration: immutable, complete, and valid. */
export type Config = Values<typeof configSchema.members>;

/**
 * The second names of CFG-7: keys under the first path mean the keys under the second. Longer paths
 * come first.
 */
export const aliases = [
  ["server.ocsp.presign", "presign"],
  ["server.ocsp", "ocsp"],
] as const;
