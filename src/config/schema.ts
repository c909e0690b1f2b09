/** WHAT CAN BE SET: every key of the configuration, declared once. */

import { path } from "./fields.ts";
import { section, type Values } from "./section.ts";
import { auth, policy, rbac, rootUser } from "./sections/access.ts";
import { database } from "./sections/database.ts";
import { issuance, profiles } from "./sections/issuance.ts";
import { keyProvider, pkcs11 } from "./sections/keys.ts";
import { rateLimit } from "./sections/limits.ts";
import { accessLog, log } from "./sections/log.ts";
import { crl, ocsp } from "./sections/revocation.ts";
import { server } from "./sections/server.ts";

/** The root of the declaration; loading, reference, example, schema and redaction are derived from it (CFG-9). */
export const configSchema = section("pkid configuration", {
  data_dir: path(
    "Directory of the database, keys, lock and sockets; made with mode 0700.",
    "./pkid-data",
  ),
  server,
  log,
  access_log: accessLog,
  database,
  root_user: rootUser,
  policy,
  auth,
  rbac,
  key_provider: keyProvider,
  pkcs11,
  issuance,
  profiles,
  crl,
  ocsp,
  rate_limit: rateLimit,
});

/** The effective configuration: immutable, complete, and valid. */
export type Config = Values<typeof configSchema.members>;

/** The second names of CFG-7: keys under the first path mean the keys under the second. */
export const aliases = [["server.ocsp", "ocsp"]] as const;
