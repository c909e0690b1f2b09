/** CRLs, partitions and views of the memory store. */

import { instant, secondsPerDay, wholeSecond } from "#core/time.ts";
import type { CaId } from "#core/ids.ts";
import { fromTheFuture } from "#domain/revocation/crl-time.ts";
import type {
  CrlHead,
  RevocationReads,
  RevocationView,
  RevocationWrites,
} from "#domain/revocation/store.ts";
import type { MemoryState } from "./state.ts";

type CrlReads = Pick<
  RevocationReads,
  "crlHead" | "crlPiece" | "publishedScopes" | "shardUrls" | "view"
>;
type CrlWrites = Pick<
  RevocationWrites,
  | "keepShardUrl"
  | "indexPartitions"
  | "reserveCrl"
  | "raiseCrlNumber"
  | "putCrlPiece"
  | "publishCrl"
  | "pruneCrls"
>;
type ListName = Pick<CrlHead, "caId" | "scope" | "number">;

export function crlReads(state: MemoryState): CrlReads {
  return {
    crlHead: async (ca, scope, kind) =>
      [...state.crls.values()]
        .filter((crl) => crl.caId === ca && crl.scope === scope)
        .filter(({ base }) => (base === undefined) === (kind === "base"))
        .sort((a, b) => b.number - a.number)[0],
    crlPiece: async (crl, position) => state.crlPieces.get(`${listKey(crl)}/${position}`),
    publishedScopes: async (ca) => {
      const bases = [...state.crls.values()].filter((crl) => crl.caId === ca && !crl.base);
      return [...new Set(bases.map(({ scope }) => scope))];
    },
    shardUrls: async (ca, at) =>
      [...state.shardUrls.values()]
        .filter((shardUrl) => shardUrl.caId === ca && shardUrl.notAfter >= at)
        .sort((a, b) => a.partition - b.partition || (a.url < b.url ? -1 : 1)),
    view: (read) => read(viewOf(state)),
  };
}

function viewOf(state: MemoryState): RevocationView {
  const now: MemoryState = {
    ...state,
    revocations: new Map(state.revocations),
    releases: new Map(state.releases),
    members: new Map(state.members),
    counters: new Map(state.counters),
  };
  const placed = <T extends { caId: CaId; serial: string; sequence: number }>(
    rows: Iterable<T>,
    ca: CaId,
    limit: number,
    after: number,
  ) =>
    [...rows]
      .filter((row) => row.caId === ca && row.sequence > after)
      .sort((a, b) => a.sequence - b.sequence)
      .slice(0, limit)
      .map((row) => {
        const certificate = state.certificates.get(`${row.caId}/${row.serial}`);
        return { ...row, kind: certificate?.kind, namedShard: certificate?.crlPartition };
      });
  return {
    sequence: now.counters.get("revocation") ?? 0,
    listed: async (ca, partition, limit, after = undefined) =>
      [...now.revocations.values()]
        .filter((row) => row.caId === ca && (after === undefined || row.serial > after))
        .filter(({ serial }) => {
          if (partition === undefined) return true;
          const { number, modulus } = partition;
          return [0, modulus].some((m) => now.members.has(`${ca}/${number}/${serial}/${m}`));
        })
        .sort((a, b) => (a.serial < b.serial ? -1 : 1))
        .slice(0, limit),
    changed: async (ca, limit, after) => placed(now.revocations.values(), ca, limit, after),
    released: async (ca, limit, after) => placed(now.releases.values(), ca, limit, after),
    indexed: async (ca, modulus) => now.counters.get(`index/${ca}/${modulus}`) ?? 0,
  };
}

export function crlWrites(state: MemoryState): CrlWrites {
  return {
    keepShardUrl: async (shardUrl) => {
      const key = `${shardUrl.caId}/${shardUrl.partition}/${shardUrl.url}`;
      const day = secondsPerDay * 1000;
      const end = instant(Math.ceil(shardUrl.notAfter / day) * day);
      const notAfter = instant(Math.max(end, state.shardUrls.get(key)?.notAfter ?? 0));
      state.shardUrls.set(key, { ...shardUrl, notAfter });
    },
    indexPartitions: async (ca, modulus, members, sequence) => {
      for (const { partition, serial, modulus: counted } of members) {
        state.members.set(`${ca}/${partition}/${serial}/${counted}`, true);
      }
      const key = `index/${ca}/${modulus}`;
      state.counters.set(key, Math.max(sequence, state.counters.get(key) ?? 0));
    },
    raiseCrlNumber: async (ca, scope, number) => {
      const key = `${ca}/${scope}`;
      const latest = state.crlReservations.get(key) ?? nothingReserved;
      if (latest.number >= number) return false;
      state.crlReservations.set(key, { ...latest, number });
      return true;
    },
    reserveCrl: async (ca, scope, { at, wanted, believed }, sequence) => {
      const key = `${ca}/${scope}`;
      const latest = state.crlReservations.get(key) ?? nothingReserved;
      if (latest.sequence > sequence) return undefined;
      const reset = believed && fromTheFuture(latest, at);
      const soonest = reset ? wanted : Math.max(wholeSecond(wanted), latest.thisUpdate + 1000);
      const reserved = {
        number: latest.number + 1,
        thisUpdate: wholeSecond(instant(soonest)),
        madeAt: reset ? at : instant(Math.max(at, latest.madeAt ?? latest.thisUpdate)),
      };
      state.crlReservations.set(key, { ...reserved, sequence });
      return { ...reserved, resetFrom: reset ? latest.thisUpdate : undefined };
    },
    putCrlPiece: async (crl, position, octets) => {
      state.crlPieces.set(`${listKey(crl)}/${position}`, octets.slice());
    },
    publishCrl: async (crl) => {
      state.crls.set(listKey(crl), crl);
    },
    pruneCrls: async (ca, scope, number) => {
      const old = [...state.crls.values()].filter(
        (crl) => crl.caId === ca && crl.scope === scope && crl.number < number,
      );
      for (const crl of old) {
        state.crls.delete(listKey(crl));
        for (let position = 0; ; position++) {
          if (!state.crlPieces.delete(`${listKey(crl)}/${position}`)) break;
        }
      }
      return 0;
    },
  };
}

const listKey = ({ caId, scope, number }: ListName) => `${caId}/${scope}/${number}`;
const nothingReserved = {
  number: 0,
  thisUpdate: instant(Number.NEGATIVE_INFINITY),
  sequence: 0,
  madeAt: undefined,
};
