/**
 * Calls that go deep: made from the server's own description of its operations, right in most
 * members and wrong in some.
 */

import type { Dice } from "./dice.ts";

/** One operation as /openapi.json describes it. */
export interface CallShape {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly query: readonly { readonly name: string; readonly schema: Schema }[];
  readonly body: Schema | undefined;
}

type Schema = Readonly<Record<string, unknown>>;

/** What is put where something real is wanted. */
export interface Real {
  readonly csr: string;
  readonly ca: string;
}

/** The operations of a document, but for those that would take away what the others need. */
export function callShapes(
  document: { readonly paths: Record<string, Record<string, unknown>> },
  without: ReadonlySet<string> = destructive,
): readonly CallShape[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, described]): CallShape[] => {
      // OpenAPI as the server writes it.
      const operation = described as {
        readonly operationId: string;
        readonly parameters: readonly {
          readonly in: string;
          readonly name: string;
          readonly schema: Schema;
        }[];
        readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
      };
      if (without.has(operation.operationId)) return [];
      return [
        {
          name: operation.operationId,
          method: method.toUpperCase(),
          path,
          query: operation.parameters.filter((one) => one.in === "query"),
          body: operation.requestBody?.content["application/json"]?.schema,
        },
      ];
    }),
  );
}

/** One call of the operation. */
export function anyCall(shape: CallShape, dice: Dice, real: Real) {
  const path = shape.path.replaceAll(/\{([a-z_]+)\*?\}/g, (_, name: string) => {
    if (name === "id" && dice.below(4) > 0) return real.ca;
    return encodeURIComponent(word(dice));
  });
  const query = shape.query
    .filter(() => dice.below(3) === 0)
    .map(
      ({ name, schema }) => `${name}=${encodeURIComponent(asText(anyOf(schema, dice, real, 2)))}`,
    );
  if (dice.below(10) === 0) query.push(`${word(dice)}=${encodeURIComponent(word(dice))}`);
  const address = query.length === 0 ? path : `${path}?${query.join("&")}`;
  if (shape.body === undefined) return { path: address, body: undefined };
  if (dice.below(12) === 0)
    return { path: address, body: dice.jsonish(real.csr, ["csr", "label", "__proto__"]) };
  return { path: address, body: JSON.stringify(anyOf(shape.body, dice, real, 5)) };
}

/** A value the schema allows, or, now and then, one of any other kind. */
function anyOf(schema: Schema, dice: Dice, real: Real, depth: number): unknown {
  if (dice.below(14) === 0 || depth === 0) return dice.of(strange);
  if (Array.isArray(schema.enum)) return dice.of(schema.enum);
  switch (schema.type) {
    case "object":
      return objectOf(schema, dice, real, depth);
    case "array": {
      const items = (schema.items ?? {}) as Schema; // JSON Schema: one for all entries.
      return Array.from({ length: dice.below(4) }, () => anyOf(items, dice, real, depth - 1));
    }
    case "integer":
      return dice.of([
        0,
        1,
        2,
        30,
        365,
        -1,
        2 ** 31,
        2 ** 53,
        Number(schema.minimum ?? 1),
        Number(schema.maximum ?? 9),
      ]);
    case "boolean":
      return dice.below(2) === 0;
    default:
      return textOf(dice, real);
  }
}

function objectOf(schema: Schema, dice: Dice, real: Real, depth: number): object {
  // As above.
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const given = properties.filter(([name]) =>
    required.includes(name) ? dice.below(25) > 0 : dice.below(4) === 0,
  );
  const known = new Map(Object.entries(knownMembers(real)));
  return Object.fromEntries(
    given.map(([name, inner]) => {
      const right = known.get(name);
      const isRight = right !== undefined && dice.below(6) > 0;
      return [name, isRight ? right : anyOf(inner, dice, real, depth - 1)];
    }),
  );
}

/** What makes a call of this service do something. */
const knownMembers = ({ csr, ca }: Real) => ({
  csr,
  csr_pem: csr,
  ca,
  profile: "server",
  serial: "1",
  validity_days: 30,
  dry_run: true,
  subject: { cn: "Fuzz" },
  key_type: "ecdsa-p256",
  tenant: "default",
  roles: ["auditor"],
});

function textOf(dice: Dice, real: Real): string {
  return dice.of([
    real.csr,
    real.ca,
    word(dice),
    word(dice),
    "server",
    "a.example.test",
    "*.example.test",
    "1",
    "0x1f",
    "keyCompromise",
    "2027-01-01T00:00:00Z",
    "2027-01-01",
    "SHA256:x",
    "ecdsa-p256",
    "https://a.test/",
    "x".repeat(5000),
    "",
    "\0",
    "\ud800",
    "‮ü😀",
  ]);
}

const word = (dice: Dice): string =>
  dice.of([
    "default",
    "none",
    "..",
    "%00",
    "a/b",
    "’",
    "0",
    "-1",
    "__proto__",
    "constructor",
    "\n",
    "\u0000",
    "x".repeat(dice.below(3000)),
    crypto.randomUUID(),
  ]);

const asText = (value: unknown): string => {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.toWellFormed();
};

const strange: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  "",
  "\u0000",
  "\ud800",
  [],
  {},
  [[]],
  2 ** 53,
  "9".repeat(400),
];

/**
 * They end CAs, keys, tokens or the tenant that everything else here needs, or make a CA each time.
 */
const destructive: ReadonlySet<string> = new Set([
  "ca.delete",
  "ca.delete.alias",
  "ca.retire",
  "ca.rotate",
  "tenant.status",
  "kek.rotate",
  "token.revoke",
  "cert.revoke_bulk",
]);
