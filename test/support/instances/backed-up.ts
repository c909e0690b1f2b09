/** Archives of an instance as it is now. */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Instance } from "./instance.ts";

/** An archive, and the file with what opens it. */
export interface BackedUp {
  readonly archive: string;
  readonly identity: string;
}

/**
 * Makes one in the folder `archives` of its home; `known` is the identity of an earlier one. Throws
 * what the command says when it fails.
 */
export async function backedUp(instance: Instance, known?: string): Promise<BackedUp> {
  const identity = known ?? join(instance.home, "identity");
  if (known === undefined) await instance.cli("backup", "keygen", "--out", identity);
  const recipient = /age1\S+/.exec(readFileSync(identity, "utf8"))?.[0] ?? "";
  const folder = join(instance.home, "archives");
  mkdirSync(folder, { recursive: true });
  const made = ["backup", "create", "--out", folder, "--recipient", recipient, "--json"];
  const { stdout, stderr } = await instance.cli(...made);
  if (stderr !== "") throw new Error(stderr);
  return { archive: String(JSON.parse(stdout).file), identity };
}

/** What is in that file, as the format writes it. */
export const identityIn = (file: string): string =>
  /AGE-SECRET-KEY-\S+/.exec(readFileSync(file, "utf8"))?.[0] ?? "";
