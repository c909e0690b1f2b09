/** Passkeys in memory. */

import type { AccessReads, AccessWrites } from "#domain/access/store.ts";
import type { MemoryState } from "./memory-state.ts";

/** Passkeys of one person, oldest first. */
export function passkeyReads({ passkeys }: MemoryState): Pick<AccessReads, "passkeysOf"> {
  return {
    passkeysOf: async (subject) =>
      [...passkeys.values()]
        .filter((passkey) => passkey.subject === subject)
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)),
  };
}

/** Passkey writes of a unit. */
export function passkeyWrites(
  state: MemoryState,
): Pick<AccessWrites, "passkeysOf" | "insertPasskey" | "usePasskey" | "removePasskey"> {
  const { passkeys } = state;
  const owned = (id: string, subject: string) => {
    const passkey = passkeys.get(id);
    return passkey?.subject === subject ? passkey : undefined;
  };
  return {
    ...passkeyReads(state),
    insertPasskey: async (passkey) => {
      if (passkeys.has(passkey.id)) return false;
      passkeys.set(passkey.id, passkey);
      return true;
    },
    usePasskey: async ({ id, subject, signCount, at }) => {
      const passkey = owned(id, subject);
      if (passkey === undefined) return "gone";
      const counts = passkey.signCount > 0 || signCount > 0;
      if (counts && signCount <= passkey.signCount) return "counter";
      passkeys.set(id, { ...passkey, signCount, lastUsedAt: at });
      return "used";
    },
    removePasskey: async (id, subject) => {
      const passkey = owned(id, subject);
      if (passkey !== undefined) passkeys.delete(id);
      return passkey;
    },
  };
}
