/** Passkeys in memory. */

import type { Account } from "#core/access/person.ts";
import type { AccessReads, AccessWrites, PasskeyRecord } from "#domain/access/store.ts";
import type { MemoryState } from "./state.ts";

/** Passkeys of one person, oldest first. */
export function passkeyReads({ passkeys }: MemoryState): Pick<AccessReads, "passkeysOf"> {
  return {
    passkeysOf: async (owner) =>
      [...passkeys.values()]
        .filter((passkey) => isOwner(passkey, owner))
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)),
  };
}

/** Passkey writes of a unit. */
export function passkeyWrites(
  state: MemoryState,
): Pick<
  AccessWrites,
  "passkeysOf" | "insertPasskey" | "usePasskey" | "removePasskey" | "removePasskeysOf"
> {
  const { passkeys } = state;
  const owned = (id: string, owner: Account) => {
    const passkey = passkeys.get(id);
    return passkey !== undefined && isOwner(passkey, owner) ? passkey : undefined;
  };
  return {
    ...passkeyReads(state),
    insertPasskey: async (passkey) => {
      if (passkeys.has(passkey.id)) return false;
      passkeys.set(passkey.id, passkey);
      return true;
    },
    usePasskey: async ({ id, owner, signCount, at }) => {
      const passkey = owned(id, owner);
      if (passkey === undefined) return "gone";
      const counts = passkey.signCount > 0 || signCount > 0;
      if (counts && signCount <= passkey.signCount) return "counter";
      passkeys.set(id, { ...passkey, signCount, lastUsedAt: at });
      return "used";
    },
    removePasskeysOf: async (subject) => {
      const gone = [...passkeys.values()].filter(({ owner }) => owner.subject === subject);
      for (const { id } of gone) passkeys.delete(id);
      return gone.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },
    removePasskey: async (id, owner) => {
      const passkey = owned(id, owner);
      if (passkey !== undefined) passkeys.delete(id);
      return passkey;
    },
  };
}

const isOwner = ({ owner }: PasskeyRecord, of: Account): boolean =>
  owner.subject === of.subject && owner.voucher === of.voucher && owner.issuer === of.issuer;
