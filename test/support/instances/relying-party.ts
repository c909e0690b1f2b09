/** The openssl command, as relying parties run it. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";

/**
 * Runs openssl; gives output and error text together, throws when `mustPass` and the exit code is
 * not 0.
 */
export async function openssl(
  args: readonly string[],
  options: { readonly mustPass?: boolean; readonly stdin?: string } = {},
): Promise<{ readonly code: number; readonly text: string }> {
  const { code, stdout, stderr } = await ran(["openssl", ...args], { stdin: options.stdin ?? "" });
  const text = `${stdout}${stderr}`;
  if (options.mustPass !== false && code !== 0) {
    throw new Error(`openssl ${args.join(" ")} exited ${code}:\n${text}`);
  }
  return { code, text };
}

/** Options of `openssl req -newkey` for the key types a subscriber brings. */
export const subscriberKeys = {
  "ecdsa-p256": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
  "ecdsa-p384": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
  "rsa-2048": ["-newkey", "rsa:2048"],
  ed25519: ["-newkey", "ed25519"],
} as const;

/** Makes a key and a CSR for `name` in `folder`; gives the CSR as PEM. */
export async function newCsr(
  folder: string,
  name: string,
  keyType: keyof typeof subscriberKeys = "ecdsa-p256",
): Promise<string> {
  const file = join(folder, `${name}.csr`);
  await openssl([
    "req",
    "-new",
    "-nodes",
    ...subscriberKeys[keyType],
    "-subj",
    `/CN=${name}`,
    "-addext",
    `subjectAltName=DNS:${name}`,
    "-keyout",
    join(folder, `${name}.key`),
    "-out",
    file,
  ]);
  return Bun.file(file).text();
}

/** Writes text into a file of the folder and gives its path. */
export function saved(folder: string, name: string, text: string | Uint8Array): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}
