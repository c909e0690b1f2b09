/** Calls whose members are all in one object: messages of other protocols, and stored requests. */

import { refuse } from "#core/problems.ts";
import { readBody, readBodyInTurns, readParameters } from "#core/shape.ts";
import type { Given } from "./given.ts";
import type { Mounted } from "./mounted.ts";

/**
 * What plain JSON values ask of the operation; they are refused as JSON over HTTP is, by the place
 * their member has there. Refuses `unknown_field`.
 */
export function givenValues(operation: Mounted, values: Readonly<Record<string, unknown>>): Given {
  return {
    named: namedIn(operation, values),
    peek: async (member) => (Object.hasOwn(values, member) ? values[member] : undefined),
    read: async () => {
      const stranger = Object.keys(values).find((name) => !Object.hasOwn(operation.members, name));
      if (stranger !== undefined) throw refuse("unknown_field", { field: stranger });
      const { query, header, path, body = {} } = operation;
      return {
        ...readParameters(query, values),
        ...readParameters(header, values),
        ...readBody(path, pick(values, path)),
        ...(await readBodyInTurns(body, pick(values, body))),
      };
    },
  };
}

function namedIn({ path }: Mounted, values: Readonly<Record<string, unknown>>) {
  const named = Object.entries(pick(values, path));
  return Object.fromEntries(
    named.map(([name, value]) => [name, typeof value === "string" ? value : undefined]),
  );
}

function pick(values: Readonly<Record<string, unknown>>, members: object) {
  const own = Object.keys(members).filter((name) => Object.hasOwn(values, name));
  return Object.fromEntries(own.map((name) => [name, values[name]]));
}
