/** Turns what people write for a CA into the id the paths want. */

import { near } from "#config/nearest.ts";

import { required } from "./args.ts";
import type { Answer, Client } from "./client.ts";
import { Failure } from "./failure.ts";
import { rowsAt, textAt } from "./rows.ts";

/** The flag most commands about one CA take. */
export const caArg = required("CA, by id or label.", "ca");

/**
 * The id of the CA with this id or label; a label that matches nothing fails and names the nearest
 * one (CLI-5).
 */
export async function caIdOf(client: Client, reference: string): Promise<string> {
  if (uuid.test(reference)) return reference.toLowerCase();
  const cas = rowsAt(await client.list("ca.list", { limit: 500 }, true), "items");
  const found = cas.find((ca) => textAt(ca, "label") === reference);
  if (found) return textAt(found, "id");
  const close = near(
    reference,
    cas.map((ca) => textAt(ca, "label")),
  );
  const none = cas.length === 0 ? "There is no CA yet." : "pkid ca list shows them.";
  const hint = close === undefined ? none : `Did you mean ${close}?`;
  throw new Failure(`There is no CA ${reference}. ${hint}`, "not_found");
}

/** The record of the CA with this id or label. */
export async function caOf(client: Client, reference: string): Promise<Answer<"ca.show">> {
  return client.ask("ca.show", { id: await caIdOf(client, reference) });
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
