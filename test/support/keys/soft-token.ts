/** A SoftHSM token of its own, and the configuration that makes pkid use it. */

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SoftHsmToken {
  readonly folder: string;
  /** YAML members for `Instance.start`. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Environment the process needs so that the module finds the token. */
  readonly env: Readonly<Record<string, string>>;
  remove(): void;
}

export const softHsmModule = "/usr/lib/softhsm/libsofthsm2.so";

/** Initialises a token `pkid` in a private directory. */
export async function createHsmToken(userPin = "1234"): Promise<SoftHsmToken> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-token-"));
  const tokens = join(folder, "tokens");
  mkdirSync(tokens);
  const conf = join(folder, "softhsm2.conf");
  writeFileSync(
    conf,
    `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`,
  );
  const pin = join(folder, "pin");
  writeFileSync(pin, `${userPin}\n`);
  chmodSync(pin, 0o600);
  const env = { SOFTHSM2_CONF: conf };
  const child = Bun.spawn(
    [
      "softhsm2-util",
      "--init-token",
      "--free",
      "--label",
      "pkid",
      "--so-pin",
      "5678",
      "--pin",
      userPin,
    ],
    { env: { PATH: process.env.PATH ?? "", ...env }, stdout: "ignore", stderr: "pipe" },
  );
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
  const config = {
    key_provider: { type: "pkcs11" },
    pkcs11: {
      module_path: softHsmModule,
      token_label: "pkid",
      pin_source: { type: "file", file: { path: pin } },
    },
  };
  return { folder, config, env, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
