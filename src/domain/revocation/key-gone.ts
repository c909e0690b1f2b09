/** Tells a key that is gone from one that cannot be had now. */

import type { KeyRef } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";

/**
 * True when the provider answers, lists its keys, and this one is not among them; asked after
 * looking for the key was refused, which has a device looked at anew. A provider that is away, and
 * a key that is there but does not open, are waited for.
 */
export async function keyIsGone(
  keys: Pick<Keys, "list" | "facts">,
  { provider, id, label }: KeyRef,
): Promise<boolean> {
  try {
    const listed = await keys.list(provider);
    if (listed.some((key) => key.id === id || key.label === label)) return false;
    // Asked last: a token pulled out meanwhile lists nothing, and then does not answer.
    const facts = await keys.facts();
    return facts.some((one) => one.provider === provider && one.available);
  } catch {
    return false; // Nobody can say so; its caller tells why the key itself was refused.
  }
}
