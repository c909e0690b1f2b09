/** Planned replacements in memory. */

import { coversCa } from "#core/access/principal.ts";
import type { Identifier } from "#core/acme/identifiers.ts";
import { assert } from "#core/problems.ts";
import type {
  NewNames,
  ReplacementItem,
  ReplacementRecord,
} from "#domain/acme/replacement-store.ts";
import type { CertificateName } from "#domain/acme/store.ts";
import type { Reads, Unit } from "#domain/store.ts";
import { type MemoryState, pageOf, serialKey } from "./state.ts";

/** Plans and their items, which are counted anew each time. */
export function replacementReads(state: MemoryState): Reads["replacements"] {
  const { replacements, replacementItems } = state;
  const itemsOf = (id: string) =>
    [...replacementItems.values()]
      .filter(({ replacement }) => replacement === id)
      .sort((a, b) => (a.serial < b.serial ? -1 : 1));
  return {
    replacement: async (id) => replacements.get(id),
    counts: async (id) => {
      const items = itemsOf(id);
      return {
        total: items.length,
        replaced: items.filter(({ replacedAt }) => replacedAt !== undefined).length,
        revoked: items.filter(({ revokedAt }) => revokedAt !== undefined).length,
      };
    },
    replacements: async (reach, limit, after) =>
      pageOf(
        [...replacements.values()].filter(({ caId, tenant }) =>
          coversCa(reach, { id: caId, tenant }),
        ),
        ({ createdAt: at, id }) => ({ at, id }),
        limit,
        after,
      ),
    plannedFor: async (certificate) => {
      const planned = runningWith(state, certificate);
      const { items } = pageOf(planned, ({ plan }) => ({ at: plan.createdAt, id: plan.id }), 1);
      return items[0]?.item;
    },
    abandoned: async (before) =>
      [...replacements.values()].filter(
        ({ state: is, createdAt }) => is === "planning" && createdAt < before,
      ),
    any: async () => [...replacements.values()].some(isOpen),
    obtained: obtainedIn(state),
    covered: async (names) => coveredIn(state, names),
    running: async () =>
      [...replacements.values()]
        .filter(({ state: is }) => is === "running")
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)),
    unrevoked: async (id, all, limit) =>
      itemsOf(id)
        .filter(({ revokedAt }) => revokedAt === undefined)
        .filter(({ replacedAt }) => all || replacedAt !== undefined)
        .slice(0, limit),
    items: async (id, limit, after = "") =>
      itemsOf(id)
        .filter(({ serial }) => serial > after)
        .slice(0, limit),
  };
}

/** The writes of a unit. */
export function replacementWrites(state: MemoryState): Unit["replacements"] {
  const { replacements, replacementItems } = state;
  return {
    addReplacement: async (plan) => {
      replacements.set(plan.id, plan);
    },
    addItems: async (items) => {
      for (const item of items) {
        assert(replacements.has(item.replacement), "items belong to a plan that is stored");
        replacementItems.set(keyOf(item), item);
      }
    },
    obtained: obtainedIn(state),
    counts: replacementReads(state).counts,
    startReplacement: async (id) => {
      const plan = replacements.get(id);
      if (plan?.state !== "planning") return false;
      replacements.set(id, { ...plan, state: "running" });
      return true;
    },
    noteReplaced: async (certificate, at) => {
      for (const { item } of openWith(state, certificate)) {
        if (item.replacedAt !== undefined) continue;
        replacementItems.set(keyOf(item), { ...item, replacedAt: at });
      }
    },
    noteRevoked: async (id, certificates, at) => {
      for (const name of certificates) {
        const key = keyOf({ replacement: id, ...name });
        const item = replacementItems.get(key);
        if (item === undefined || item.revokedAt !== undefined) continue;
        replacementItems.set(key, { ...item, revokedAt: at });
      }
    },
    endReplacement: async (id, to) => {
      const plan = replacements.get(id);
      if (plan === undefined || !isOpen(plan)) return false;
      replacements.set(id, { ...plan, state: to });
      return true;
    },
    pruneItems: async (before, limit) => {
      const over = [...replacementItems].filter(([, { replacement }]) => {
        const plan = replacements.get(replacement);
        return plan !== undefined && !isOpen(plan) && plan.end < before;
      });
      for (const [key] of over.slice(0, limit)) replacementItems.delete(key);
      return Math.min(over.length, limit);
    },
  };
}

const isOpen = ({ state }: ReplacementRecord): boolean =>
  state === "planning" || state === "running";

const nameOf = ({ type, value }: Identifier): string => `${type}:${value}`;

const obtainedIn =
  ({ acmeOrders }: MemoryState): Reads["replacements"]["obtained"] =>
  async (ca, certificates) => {
    const asked = new Set(certificates.map(({ serial }) => serial));
    const found = [...acmeOrders.values()].flatMap(({ certificate, replacedBy }) =>
      certificate?.caId === ca && asked.has(certificate.serial)
        ? [[certificate.serial, replacedBy !== undefined] as const]
        : [],
    );
    return new Map(found);
  };

function coveredIn(state: MemoryState, { account, identifiers }: NewNames) {
  const names = new Set(identifiers.map(nameOf));
  return [...state.acmeOrders.values()].flatMap((order) => {
    const { certificate } = order;
    if (certificate === undefined || order.account !== account) return [];
    if (!order.identifiers.every((one) => names.has(nameOf(one)))) return [];
    const open = openWith(state, certificate);
    return open.some(({ item }) => item.replacedAt === undefined) ? [certificate] : [];
  });
}

const runningWith = (state: MemoryState, certificate: CertificateName) =>
  openWith(state, certificate).filter(({ plan }) => plan.state === "running");

function openWith(
  { replacements, replacementItems }: MemoryState,
  { caId, serial }: CertificateName,
): readonly { readonly plan: ReplacementRecord; readonly item: ReplacementItem }[] {
  return [...replacements.values()].flatMap((plan) => {
    const item = replacementItems.get(keyOf({ replacement: plan.id, caId, serial }));
    return isOpen(plan) && item !== undefined ? { plan, item } : [];
  });
}

const keyOf = ({
  replacement,
  caId,
  serial,
}: Pick<ReplacementItem, "replacement" | "caId" | "serial">) =>
  `${replacement}/${serialKey(caId, serial)}`;
