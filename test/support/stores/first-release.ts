/**
 * Instances as the binary of the first release left them: it founded them, issued, revoked and
 * parked, and was stopped. Nothing in them was made by a later one.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { SQL } from "bun";

import { ran } from "#test/support/child.ts";

/** What is there, of a root `root` and its intermediate `issuing`, and how it is configured. */
export interface FirstRelease {
  /** Id of the intermediate. */
  readonly issuing: string;
  /** PEM certificates. */
  readonly root: string;
  readonly intermediate: string;
  /** The request all of `leaves` were issued for. */
  readonly csr: string;
  /** The request of a certificate that was revoked because its key was compromised. */
  readonly doomed: string;
  /** Secret of a token that may issue. */
  readonly token: string;
  /** Four, good for years: superseded, good, good, suspended. */
  readonly leaves: readonly { readonly serial: string; readonly certificate: string }[];
}

/** The configuration it ran with, but for its listeners and its database. */
export const firstReleaseConfig = {
  profiles: [
    {
      name: "server",
      key_usages: ["digitalSignature"],
      ext_key_usages: ["serverAuth"],
      default_validity_days: 3000,
      max_validity_days: 3000,
    },
  ],
  crl: { shards: 2, base_url: "http://crl.example.test" },
  approvals: { enabled: true, thresholds: { "ca.rotate": 1 } },
} as const;

/** The bulk run it finished: of three certificates for many.example.test. */
export const firstReleaseRun = "b0000000-0000-4000-8000-000000000001";

/** Puts one into `home`, with its data directory; on PostgreSQL, its rows into the database. */
export async function firstRelease(home: string, dsn?: string): Promise<FirstRelease> {
  const archive = join(import.meta.dir, `first-release-${dsn ? "postgres" : "sqlite"}.tar.gz`);
  const { code, stderr } = await ran(["tar", "-xzf", archive, "-C", home]);
  if (code !== 0) throw new Error(`tar: ${stderr}`);
  if (dsn !== undefined) {
    await using target = new SQL({ url: dsn, max: 1 });
    // Lines that begin with a backslash are for psql alone.
    const dump = readFileSync(join(home, "dump.sql"), "utf8").replace(/^\\.*$/gm, "");
    await target.unsafe(dump);
  }
  return JSON.parse(readFileSync(join(home, "facts.json"), "utf8"));
}
