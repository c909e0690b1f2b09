/** The memory store's part for OCSP answers signed ahead. */

import type { CaId, Serial } from "#core/ids.ts";
import type { PresignCandidate, PresignedRecord } from "#domain/revocation/presign-store.ts";
import type { CertStatus } from "#domain/revocation/store.ts";
import type { Reads, Unit } from "#domain/store.ts";
import { type MemoryState, serialKey } from "./state.ts";

/** Reads over the state. */
export function presignedReads(
  state: MemoryState,
  certStatus: (ca: CaId, serial: Serial) => Promise<CertStatus>,
): Reads["presigned"] {
  const candidate = async (ca: CaId, serial: Serial): Promise<PresignCandidate[]> => {
    const known = await certStatus(ca, serial);
    if (known.status === "unknown") return [];
    const answers = [...state.presigned.values()].filter(
      (row) => row.caId === ca && row.serial === serial,
    );
    const key = serialKey(ca, serial);
    const notAfter = state.certificates.get(key)?.notAfter ?? state.revocations.get(key)?.expiresAt;
    const signed = Object.fromEntries(
      answers.map(({ hash, producedAt: at, responder }) => [hash, { at, responder }]),
    );
    const inventoried = state.certificates.has(key);
    return [{ serial, certStatus: known, inventoried, notAfter, signed }];
  };
  const page = async (
    ca: CaId,
    rows: Iterable<{ readonly caId: CaId; readonly serial: Serial }>,
    limit: number,
    after = "",
  ) => {
    const serials = [...rows].filter((row) => row.caId === ca && row.serial > after);
    const sorted = serials.map(({ serial }) => serial).sort();
    const found = await Promise.all(sorted.slice(0, limit).map((one) => candidate(ca, one)));
    return found.flat();
  };
  return {
    find: async (ca, serial, hash) => ({
      certStatus: await certStatus(ca, serial),
      presigned: state.presigned.get(`${serialKey(ca, serial)}/${hash}`),
    }),
    issued: (ca, limit, after) => page(ca, state.certificates.values(), limit, after),
    revoked: (ca, limit, after) => page(ca, state.revocations.values(), limit, after),
    among: async (ca, serials) =>
      (await Promise.all(serials.map((serial) => candidate(ca, serial)))).flat(),
    page: async (ca, limit, after) => {
      const key = ({ serial, hash }: PresignedRecord) => `${serial} ${hash}`;
      const rows = [...state.presigned.values()].filter(({ caId }) => caId === ca);
      const later = after === undefined ? rows : rows.filter((row) => key(row) > after.join(" "));
      return later.sort((a, b) => (key(a) < key(b) ? -1 : 1)).slice(0, limit);
    },
    summary: async () => {
      const ends = [...state.presigned.values()].map(({ nextUpdate }) => nextUpdate);
      return { count: ends.length, earliestNextUpdate: ends.sort((a, b) => a - b)[0] };
    },
  };
}

/** The changes of a unit. */
export function presignedWrites(state: MemoryState): Unit["presigned"] {
  return {
    keep: async (_ca, _sequence, answers) => {
      const still = answers.filter(({ caId, serial, revoked }) => {
        const entry = state.revocations.get(serialKey(caId, serial));
        return entry?.revokedAt === revoked?.at && entry?.reason === revoked?.reason;
      });
      for (const answer of still) {
        const key = `${serialKey(answer.caId, answer.serial)}/${answer.hash}`;
        const known = state.presigned.get(key);
        const ahead = (known?.producedAt ?? 0) - answer.producedAt;
        if (ahead <= 0 || ahead > 300_000) {
          state.presigned.set(key, answer);
        }
      }
      return still.length;
    },
    prune: async (before, limit) => {
      const old = [...state.presigned].filter(([, { nextUpdate }]) => nextUpdate < before);
      for (const [key] of old.slice(0, limit)) state.presigned.delete(key);
      return Math.min(old.length, limit);
    },
  };
}

/** Deletes the answers about one serial. */
export function forgetPresigned(state: MemoryState, ca: CaId, serial: Serial): void {
  for (const [key, row] of state.presigned) {
    if (row.caId === ca && row.serial === serial) state.presigned.delete(key);
  }
}
