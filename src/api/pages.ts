/** Collections: `limit`, the opaque `cursor`, and the list envelope (API-5). */

import { coversCa, coversTenant } from "#core/access/principal.ts";
import { sha256 } from "#core/crypto.ts";
import { type CaId, caId, type Serial, type TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import {
  type Field,
  flag,
  integer,
  many,
  object,
  optional,
  otherwise,
  text,
  words,
  WrongValue,
} from "#core/shape.ts";
import type { Asking } from "#domain/access/operation.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { findIssuer } from "#domain/certificates/lineage.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { Store } from "#domain/store.ts";

/** `limit` 1..500, above clamped; `cursor` as the last page gave it. */
export const pageFields = {
  limit: otherwise(limitField(), 100),
  cursor: optional(text({ min: 1, max: 512 })),
};

/** What every collection answers. */
export interface ListEnvelope<T> {
  readonly items: readonly T[];
  readonly next_cursor: string;
  readonly has_more: boolean;
  readonly total: number;
}

/** The same as a shape. */
export const listOf = <T>(item: Field<T>): Field<ListEnvelope<T>> => object(listMembers(item));

/** The members of the envelope, for lists with others beside them. */
export const listMembers = <T>(item: Field<T>) => ({
  items: many(item),
  next_cursor: words({ description: "Empty on the last page." }),
  has_more: flag(),
  total: integer(0, Number.MAX_SAFE_INTEGER),
});

/** A collection that is never long enough for pages. */
export const onePage = <T>(items: readonly T[]): ListEnvelope<T> => ({
  items,
  next_cursor: "",
  has_more: false,
  total: items.length,
});

type PagedCall = Pick<Asking, "reach"> & {
  readonly input: { readonly limit: number; readonly cursor: string | undefined };
};

/**
 * Loads and renders one page. `name`, `filters` and the caller's reach bind the cursor: with any
 * other it is refused as `bad_cursor`. `filters` must hold everything that selects rows, path
 * members included.
 */
export async function pageOf<T, J>(
  name: string,
  call: PagedCall,
  filters: object,
  render: (item: T) => J,
  load: (limit: number, after: PageKey | undefined) => Promise<Page<T>>,
): Promise<ListEnvelope<J>> {
  const binding = bindingOf(name, filters, call.reach);
  const page = await load(call.input.limit, readCursor(call.input.cursor, binding));
  return {
    items: page.items.map(render),
    next_cursor: page.next === undefined ? "" : writeCursor(page.next, binding),
    has_more: page.next !== undefined,
    total: page.total,
  };
}

/** The same for lists ordered by one sequence number: the cursor holds the last one seen. */
export async function sequencePageOf<T, J>(
  name: string,
  call: PagedCall,
  filters: object,
  render: (item: T) => J,
  load: (limit: number, before: number | undefined) => Promise<Page<T>>,
): Promise<ListEnvelope<J>> {
  return pageOf(name, call, filters, render, (limit, after) => load(limit, after?.at));
}

function bindingOf(name: string, filters: object, reach: PagedCall["reach"]): string {
  const scopes = reach === "platform" ? reach : [[...reach.tenants].sort(), [...reach.cas].sort()];
  const bound = JSON.stringify([name, filters, scopes]);
  return Buffer.from(sha256(new TextEncoder().encode(bound)).subarray(0, 12)).toString("base64url");
}

function writeCursor(key: PageKey, binding: string): string {
  return Buffer.from(JSON.stringify([key.at, key.id, binding])).toString("base64url");
}

function readCursor(cursor: string | undefined, binding: string): PageKey | undefined {
  if (cursor === undefined) return undefined;
  const [at, id, bound] = decoded(cursor);
  if (bound !== binding || typeof at !== "number" || typeof id !== "string") {
    throw refuse("bad_cursor");
  }
  return { at, id };
}

function decoded(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return Array.isArray(value) ? value : [];
  } catch {
    // Not a cursor of ours: the caller refuses it.
    return [];
  }
}

function limitField(): Field<number> {
  return {
    optional: false,
    schema: { type: "integer", minimum: 1, description: "Of more than 500 there are 500." },
    write: (value) => value,
    read: (value) => {
      if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1) {
        throw new WrongValue("must be an integer from 1 to 500");
      }
      return Math.min(value, 500);
    },
  };
}

/**
 * The tenant a `tenant` parameter names; foreign and absent ones are refused alike with
 * `bad_query`.
 */
export async function readableTenant(
  store: Store,
  named: string | undefined,
  reach: PagedCall["reach"],
): Promise<TenantId | undefined> {
  if (named === undefined) return undefined;
  const tenant = await store.read.tenants.named(named);
  if (tenant === undefined || !coversTenant(reach, tenant.id)) {
    throw refuse("bad_query", { parameter: "tenant", reason: "names no tenant you may read" });
  }
  return tenant.id;
}

/**
 * The CA a `ca` parameter, or another one, names by id or label; foreign and absent ones are
 * refused alike with `bad_query`.
 */
export async function readableCa(
  store: Store,
  reference: string,
  reach: PagedCall["reach"],
  parameter = "ca",
): Promise<CaId> {
  return (await readableCaRecord(store, reference, reach, parameter)).id;
}

/**
 * Returns the CA that the filter of a list names as `ca`. If it names a serial too, returns the CA
 * of the lineage that has issued it (ROL-3). Refuses as `readableCa` does.
 */
export async function readableIssuer(
  store: Store,
  filter: { readonly ca: string | undefined; readonly serial: Serial | undefined },
  reach: PagedCall["reach"],
): Promise<CaId | undefined> {
  const { ca: reference, serial } = filter;
  if (reference === undefined) return undefined;
  const ca = await readableCaRecord(store, reference, reach, "ca");
  const issuer = serial === undefined ? undefined : await findIssuer(store.read, ca, serial);
  return (issuer ?? ca).id;
}

async function readableCaRecord(
  store: Store,
  reference: string,
  reach: PagedCall["reach"],
  parameter: string,
): Promise<CaRecord> {
  const { cas } = store.read;
  const ca = (await cas.byId(caId(reference))) ?? (await cas.byLabel(reference));
  if (ca === undefined || ca.internal || !coversCa(reach, ca)) {
    throw refuse("bad_query", { parameter, reason: "names no CA you may read" });
  }
  return ca;
}
