/** What is held against a running server: its newest event, its lists, and some certificates. */

import { partitionNumber } from "#domain/revocation/scopes.ts";
import type { Random } from "#domain/ports.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

import { asked, numberOf, octetsOf, textOf } from "./look-rows.ts";

/** A list that is the newest of its scope and kind, of a CA whose certificate is valid. */
export interface SampledList {
  readonly caId: string;
  readonly scope: string;
  readonly delta: boolean;
  readonly number: number;
  readonly sha256: string;
  readonly nextUpdate: number;
}

/** A certificate, or a serial nobody has issued, and what OCSP must say of it. */
export interface SampledSerial {
  readonly caId: string;
  readonly serial: string;
  readonly status: "good" | "revoked";
  readonly reason: string;
  /** DER; undefined for a serial without certificate. */
  readonly certificate: Uint8Array | undefined;
}

export interface Sample {
  /** Hash of the event that was asked for; undefined when there is none. */
  readonly eventHash: string | undefined;
  /** DER certificates of the CAs that may be asked, by id. */
  readonly cas: ReadonlyMap<string, Uint8Array>;
  readonly lists: readonly SampledList[];
  readonly serials: readonly SampledSerial[];
  /** Revoked serials beyond those that are sampled. */
  readonly left: number;
}

export interface SampleRequest {
  /** Whose hash is wanted. */
  readonly event: number;
  /** Everything revoked behind this event is sampled, as far as there is room. */
  readonly since: number;
  /** Epoch milliseconds. */
  readonly now: number;
  /** `crl.shards`: partitions from there on are served where a valid certificate names them. */
  readonly shards: number;
  readonly random: Pick<Random, "bytes">;
}

/** Reads one committed state. */
export async function sampled(
  engine: Pick<Engine, "view">,
  request: SampleRequest,
): Promise<Sample> {
  return await engine.view(async (connection) => {
    const { event, now } = request;
    const [hash] = await asked(connection, "select hash from events where seq = %1", [event]);
    const cas = await asked(connection, validCas, [now]);
    const lists = await asked(connection, newestLists, [now]);
    const stamps = await asked(connection, validStamps, [now]);
    const named = new Set(stamps.map(([ca, partition]) => `${ca}|${Number(partition)}`));
    const first = await firstChange(connection, request.since);
    const revoked = await asked(connection, revokedSince, [first, now, revokedMax]);
    const [all] = await asked(connection, revokedCount, [first, now]);
    const good = await goodOnes(connection, request);
    return {
      eventHash: hash && textOf(hash[0]),
      cas: new Map(cas.map(([id, der]) => [textOf(id), octetsOf(der)])),
      lists: lists.map(listOf).filter(({ caId, scope }) => {
        const partition = partitionNumber(scope);
        if (partition === undefined || partition < request.shards) return true;
        return named.has(`${caId}|${partition}`);
      }),
      serials: [...revoked.map(revokedOf), ...good],
      left: Math.max(0, Number(all?.[0]) - revoked.length),
    };
  });
}

/** The number of the revocation sequence before the first change behind an event. */
async function firstChange(connection: Connection, since: number): Promise<number> {
  if (since === 0) return 0;
  const [row] = await asked(connection, changesSince, [since]);
  const found = /(?:^| )sequence=(\d+)/.exec(textOf(row?.[0] ?? null));
  return found === null ? Number.MAX_SAFE_INTEGER : Number(found[1]) - 1;
}

/** Drawn at random, so that another run asks about others. */
async function goodOnes(
  connection: Connection,
  { now, random }: SampleRequest,
): Promise<readonly SampledSerial[]> {
  const [row] = await asked(connection, "select max(ordinal) from certificates");
  const last = numberOf(row?.[0]) ?? 0;
  const found = new Map<string, SampledSerial>();
  for (let draw = 0; draw < goodDraws; draw++) {
    const octets = random.bytes(4);
    const place = new DataView(octets.buffer, octets.byteOffset, 4).getUint32(0) / 2 ** 32;
    const [one] = await asked(connection, goodFrom, [Math.floor(place * last), now]);
    if (one === undefined) continue;
    const [ca, serial, certificate] = one;
    const facts = { caId: textOf(ca), serial: textOf(serial), reason: "" };
    found.set(textOf(serial), { ...facts, status: "good", certificate: octetsOf(certificate) });
  }
  return [...found.values()];
}

const listOf = ([caId, scope, kind, number, digest, next]: readonly unknown[]): SampledList => ({
  caId: textOf(caId),
  scope: textOf(scope),
  delta: kind === "delta",
  number: Number(number),
  sha256: textOf(digest),
  nextUpdate: Number(next),
});

function revokedOf([caId, serial, reason, der]: readonly unknown[]): SampledSerial {
  // Retention may have taken them from the row; its serial is asked for without.
  const octets = octetsOf(der);
  const certificate = octets.length === 0 ? undefined : octets;
  const facts = { caId: textOf(caId), serial: textOf(serial), reason: textOf(reason) };
  return { ...facts, status: "revoked", certificate };
}

const answering = "a.certificate is not null and a.not_after > ";
const validCas = `select a.id, a.certificate from cas a where ${answering} %1`;
const newestLists = `select h.ca_id, h.scope, h.kind, h.number, h.sha256, h.next_update from crl_heads h
join cas a on a.id = h.ca_id
where ${answering} %1 and h.number = (select max(o.number) from crl_heads o
  where o.ca_id = h.ca_id and o.scope = h.scope and o.kind = h.kind)
order by h.ca_id, h.scope, h.kind`;
const validStamps = "select distinct ca_id, partition from crl_stamps where not_after >= %1";
const changesSince = `select detail from events
where seq > %1 and action in ('cert.revoke', 'cert.suspend') and result = 'success' order by seq limit 1`;
const revokedFrom = `from revocations r join cas a on a.id = r.ca_id
left join certificates c on c.ca_id = r.ca_id and c.serial = r.serial
where r.sequence > %1 and ${answering} %2`;
const revokedSince = `select r.ca_id, r.serial, r.reason, c.certificate ${revokedFrom}
order by r.sequence desc limit %3`;
const revokedCount = `select count(*) ${revokedFrom}`;
const goodFrom = `select c.ca_id, c.serial, c.certificate from certificates c
join cas a on a.id = c.ca_id
where c.ordinal > %1 and c.status = 'good' and c.not_after > %2 and ${answering} %2
order by c.ordinal limit 1`;
const revokedMax = 10_000;
const goodDraws = 50;
