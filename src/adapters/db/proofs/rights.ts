/** API tokens and grants have no right but those that an event tells they were given. */

import { grantText, tokenText } from "#core/proofs/told-texts.ts";
import { instant, timestamp } from "#core/time.ts";

import type { Look } from "./look.ts";
import { numberOf, paged, textOf } from "./look-rows.ts";

/** `told` is what became of each right, by its text. */
export async function proveRights(
  look: Look,
  told: ReadonlyMap<string, "given" | "ended">,
): Promise<void> {
  const { connection, proofs, from } = look;
  const { rights } = proofs;
  for await (const page of paged(connection, everyToken, [""])) {
    for (const [id, tenant, scope, roles, expires, revoked, created] of page) {
      rights.checked += 1;
      const end = numberOf(expires);
      const expiresAt = end === undefined ? "" : timeText(end);
      const list = rolesOf(textOf(roles));
      const detail = new Map([
        ["scope", textOf(scope)],
        ["roles", list],
        ["expires_at", expiresAt],
      ]);
      const state = told.get(tokenText(textOf(id), textOf(tenant), detail));
      const name = `API token ${textOf(id)}`;
      if (state === undefined) {
        if (Number(created) < from.at) continue;
        rights.violated(`${name} has rights that no event tells it was given.`);
      } else if ((state === "ended") !== (revoked !== null)) {
        rights.violated(
          `${name} is ${revoked === null ? "in force" : "ended"}, its event differs.`,
        );
      }
    }
  }
  for await (const page of paged(connection, everyGrant, [""])) {
    for (const [id, ca, type, entity, role, scope, created] of page) {
      rights.checked += 1;
      const detail = new Map([
        ["role", textOf(role)],
        ["scope", textOf(scope)],
      ]);
      const text = grantText(textOf(ca), `${textOf(type)}:${textOf(entity)}`, detail);
      if (told.get(text) === "given" || Number(created) < from.at) continue;
      rights.violated(`Grant ${textOf(id)} on CA ${textOf(ca)} was given by no event.`);
    }
  }
}

/** What is no time matches none. */
function timeText(at: number): string {
  return Math.abs(at) <= timeMax ? timestamp(instant(at)) : "never";
}

/** As the event has them; what is no list of them matches none. */
function rolesOf(text: string): string {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.join(",") : text;
  } catch {
    return text;
  }
}

/** ECMA-262 §21.4.1.1: 100,000,000 days. */
const timeMax = 8.64e15;
const everyToken = `select id, tenant, scope, roles, expires_at, revoked_at, created_at from api_tokens
where id > %1 order by id limit %2`;
const everyGrant = `select id, ca_id, entity_type, entity_id, role, scope, created_at from grants
where id > %1 order by id limit %2`;
