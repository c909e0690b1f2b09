/** Which of the keys that an archive only refers to are on the token that is here. */

import type { Client } from "#cli/client.ts";
import type { HsmKeysReport } from "#cli/command.ts";
import { Refusal } from "#cli/failure.ts";
import { rowOf, rowsAt, textAt } from "#cli/rows.ts";
import type { ExpectedKey, Manifest } from "#core/backup/archive.ts";

/** Looks for each; undefined where the archive refers to none. */
export async function hsmKeysFound(
  client: Client,
  { hsm_keys, hsm_tokens = [] }: Manifest,
): Promise<HsmKeysReport | undefined> {
  if (hsm_keys.length === 0) return undefined;
  const provider = rowOf(await client.ask("hsm.info", {}));
  const there = await labelsThere(client);
  const missing = hsm_keys.filter((key) => isLookedFor(key) && !there.has(nameOf(key)));
  const here = textAt(provider, "serial");
  return {
    tokens: hsm_tokens,
    here: textAt(provider, "provider") === "pkcs11" ? here : "",
    expected: hsm_keys.length,
    missing: missing.map(({ role, label }) => `${role} ${label}`),
  };
}

/** That of a KEK is proven by what it opens. */
const isLookedFor = ({ role }: ExpectedKey): boolean => role !== "kek";
const nameOf = ({ provider, label }: Pick<ExpectedKey, "provider" | "label">): string =>
  `${provider}/${label}`;

async function labelsThere(client: Client): Promise<ReadonlySet<string>> {
  try {
    const rows = rowsAt(await client.list("inventory.keys", { limit: 500 }, true), "items");
    const named = rows.map((row) => ({
      provider: textAt(row, "provider"),
      label: textAt(row, "label"),
    }));
    return new Set(named.map(nameOf));
  } catch (error) {
    // Without its token there is none of them.
    if (error instanceof Refusal && textAt(error.body, "code") === "key_unavailable")
      return new Set();
    throw error;
  }
}
