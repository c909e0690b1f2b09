/** The memory store's part for certificates that leave the inventory. */

import { sha256Hex } from "#core/crypto.ts";
import type { CaId, Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { Reads, Unit } from "#domain/store.ts";
import type { Left } from "#domain/retention/store.ts";

import { type MemoryState, serialKey } from "./state.ts";

/** Reads over the state. */
export function retentionReads(state: MemoryState): Reads["retention"] {
  return {
    expired: async (ca, before, limit, after) => {
      const order = (row: { status: string; notAfter: number; serial: string }) =>
        `${row.status} ${String(row.notAfter).padStart(16, "0")} ${row.serial}`;
      const rows = [...state.certificates.values()].flatMap((row) => {
        const { serial, status, notAfter } = row;
        if (row.caId !== ca || row.kind !== "leaf" || status === "held") return [];
        if (notAfter >= before) return [];
        const archived = state.archived.has(serialKey(ca, serial));
        const der = row.certificate.length > 0 ? "row" : archived ? "archive" : "gone";
        return [{ serial, status, notAfter, der } as const];
      });
      const sorted = rows.sort((a, b) => (order(a) < order(b) ? -1 : 1));
      const rest = after ? sorted.filter((row) => order(row) > order(after)) : sorted;
      const items = rest.slice(0, limit);
      return { items, next: rest.length >= limit ? items.at(-1) : undefined };
    },
    offListsUntil: async (ca, now) => {
      const bases = [...state.crls.values()].filter(
        (head) => head.caId === ca && head.base === undefined,
      );
      let until: number = now;
      for (const scope of new Set(bases.map((head) => head.scope))) {
        const its = bases.filter((head) => head.scope === scope);
        const newest = its.reduce((a, b) => (a.number > b.number ? a : b));
        if (newest.nextUpdate < now) continue;
        if (newest.prior === undefined) return undefined;
        until = Math.min(until, newest.prior.thisUpdate);
      }
      return instant(until);
    },
    engaged: async (ca) =>
      [...state.bulkRuns.values()].some((run) => run.caId === ca && run.state !== "finished") ||
      [...state.approvals.values()].some(
        (one) =>
          ["pending", "approved", "executing"].includes(one.status) &&
          JSON.stringify(one).includes(ca),
      ),
  };
}

/** Writes over the state. */
export function retentionWrites(state: MemoryState): Unit["retention"] {
  const there = (ca: CaId, serials: readonly Serial[]) =>
    serials.flatMap((serial) => {
      const row = state.certificates.get(serialKey(ca, serial));
      return row?.kind === "leaf" && row.status !== "held" ? [row] : [];
    });
  return {
    archive: async (ca, serials) => {
      const left: Left[] = [];
      for (const row of there(ca, serials)) {
        if (row.certificate.length === 0) continue;
        const key = serialKey(ca, row.serial);
        state.archived.set(key, row.certificate);
        state.certificates.set(key, { ...row, certificate: new Uint8Array() });
        left.push({ serial: row.serial, sha256: sha256Hex(row.certificate) });
      }
      return left;
    },
    prune: async (ca, serials) => {
      const left: Left[] = [];
      for (const row of there(ca, serials)) {
        const key = serialKey(ca, row.serial);
        const der = row.certificate.length > 0 ? row.certificate : state.archived.get(key);
        if (der === undefined) continue;
        const { ct: _ct, crlUrl: _url, ...kept } = row;
        const nothing = { subject: "", commonName: "", sans: [], requestedBy: "" };
        state.certificates.set(key, { ...kept, ...nothing, certificate: new Uint8Array() });
        state.archived.delete(key);
        left.push({ serial: row.serial, sha256: sha256Hex(der) });
      }
      return left;
    },
  };
}
