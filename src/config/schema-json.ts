/** Renders the declaration as a JSON Schema for editors (CFG-9). */

import type { Schema } from "#core/shape/described.ts";

import { configSchema } from "./schema.ts";
import { type Field, isDerived, type Members } from "./section.ts";
import { localSourceMembers, sourceMembers } from "./sources.ts";

/** JSON Schema (2020-12) of a configuration file. */
export function configJsonSchema(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: configSchema.title,
    ...objectSchema(configSchema.members),
    $defs: {
      secret_source: { ...objectSchema(sourceMembers), required: ["type"] },
      local_source: { ...objectSchema(localSourceMembers), required: ["type"] },
    },
  };
}

function objectSchema(members: Members): Schema {
  const properties: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(members)) {
    if (member.node === "section") {
      properties[key] = { title: member.title, ...objectSchema(member.members) };
    } else {
      properties[key] = fieldSchema(member);
      if (member.source) properties[`${key}_source`] = member.source.schema;
    }
  }
  return { type: "object", properties, additionalProperties: false };
}

function fieldSchema(field: Field<unknown>): Schema {
  const each = field.members && objectSchema(field.members);
  const named = field.kind.schema.type === "object";
  const items = each && (named ? { additionalProperties: each } : { items: each });
  const fallback =
    field.fallback === undefined || isDerived(field.fallback) ? {} : { default: field.fallback };
  return { description: field.sentence, ...field.kind.schema, ...items, ...fallback };
}
