/**
 * Remote calls ask and tell all that their operations do: a member of an operation that messages
 * forget, and a field that no member fills, is found here.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import type { DescField, DescMessage } from "@bufbuild/protobuf";

import { type PkiMethod, pkiMethods, pkiSchema } from "#api/rpc/messages.ts";
import { rpcMethods } from "#api/rpc/methods.ts";
import { kindOf, type Message, type MessageValue } from "#core/protobuf/schema.ts";
import { decodeMessage, encodeMessage } from "#core/protobuf/wire.ts";
import { instant } from "#core/time.ts";
import type { OperationName } from "#operations";
import { type CallShape, callShapes } from "#test/support/fuzz/fuzz-calls.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { CtLog } from "#test/support/servers/ct-log.ts";

/** What was left out on purpose, and why. */
type Reasons = Partial<Record<PkiMethod, Readonly<Record<string, string>>>>;
type Json = Readonly<Record<string, unknown>>;

setDefaultTimeout(60_000);
const methods = rpcMethods({
  crl: { base_url: "http://pki.test" },
  ocsp: { nonce_enabled: true, delegated: true },
});
const names = Object.keys(methods) as PkiMethod[]; // The keys of a record of them.
const logs: CtLog[] = [];
let instance: Instance;
let chain: Chain;
let shapes: ReadonlyMap<string, CallShape>;
/** What the operations answered, in every shape they have. */
const told = new Map<OperationName, Json[]>();

beforeAll(async () => {
  const now = () => instant(Date.now());
  const well = new CtLog({ now });
  const broken = new CtLog({ now, instead: () => new Response("", { status: 500 }) });
  logs.push(well, broken);
  const log = ({ url, spki }: CtLog, name: string) => {
    const public_key = Buffer.from(spki).toString("base64");
    return { name, url, operator: name, mmd_hours: 1, public_key };
  };
  const profile = {
    name: "logged",
    key_usages: ["digitalSignature"],
    ext_key_usages: ["serverAuth"],
    default_validity_days: 90,
    max_validity_days: 90,
    lint: { require_must_staple: true },
    ct: { enabled: true, min_scts: 2, timeout_seconds: 30, fail_open: true },
  };
  instance = await Instance.start({
    config: {
      policy: { max_cert_validity_days: 40 },
      certificate_transparency: { logs: [log(well, "well"), log(broken, "broken")] },
      profiles: [profile],
    },
  });
  chain = await createChain(instance, "ecdsa-p256");
  const described = await (await instance.fetch("/openapi.json")).json();
  shapes = new Map(callShapes(described, new Set()).map((one) => [one.name, one]));
  await ask();
});

afterAll(async () => {
  await instance.dispose();
  await Promise.all(logs.map((log) => log.stop()));
});

async function ask(): Promise<void> {
  const ca = `/api/ca/${chain.intermediateId}`;
  const csr = await newCsr(chain.folder, "members.example.test");
  const days = { profile: "logged", validity_days: 30 };
  const { tenant_id } = await instance.admin<{ tenant_id: string }>("GET", ca);
  const quotas = { max_certs_per_day: 100, max_active_certs: 100 };
  await instance.admin("PUT", `/api/tenants/${tenant_id}`, { quotas });
  const issued = await tell("cert.issue", "POST", `${ca}/issue`, { csr, profile: "logged" });
  const { serial, certificate } = issued;
  await tell("cert.preview", "POST", `${ca}/certificates:preview`, { csr, ...days });
  const other = { common_name: "bad_name.example", dns_names: ["bad_name.example"] };
  await tell("cert.preview", "POST", `${ca}/certificates:preview`, other);
  await tell("cert.renew", "POST", `${ca}/renew`, { serial });
  await tell("cert.show", "GET", `${ca}/certificates/${serial}`);
  await tell("cert.suspend", "POST", `${ca}/certificates/${serial}:suspend`);
  await tell("cert.release", "POST", `${ca}/certificates/${serial}:release`);
  await tell("cert.revoke", "POST", `${ca}/revoke`, { serial, reason: "superseded" });
  await tell("cert.show", "GET", `${ca}/certificates/${serial}`);
  await tell("cert.list", "GET", `${ca}/certificates?limit=5`);
  await tell("cert.validate", "POST", "/api/validate", { ca: chain.intermediateId, certificate });
  await instance.admin("POST", `${ca}/crl:publish`);
  await tell("crl.status", "GET", `${ca}/crl/status`);
  await tell("ca.show", "GET", ca);
}

async function tell(operation: OperationName, method: string, path: string, body?: Json) {
  const answer = await instance.admin<Json>(method, path, body);
  told.set(operation, [...(told.get(operation) ?? []), answer]);
  return answer;
}

test("every field of a request is a member of its operation, and the other way about", () => {
  for (const name of names) {
    const { operation, messages, renamed, ask: asking } = methods[name];
    const shape = shapes.get(operation);
    if (shape === undefined) throw new Error(`${operation} is not described`);
    const wanted = membersOf(shape);
    const without = flat(asking({}));
    const reached = new Map<string, string>();
    for (const field of pkiSchema.type(messages[0]).fields) {
      const value = sampleOf(field);
      const given = flat(asking({ [field.name]: value }));
      const changed = [...given].filter(([path, one]) => without.get(path) !== one);
      // One member, which says what the field said; queries are text, and enums are in capitals.
      expect([name, field.name, changed.map(([, one]) => one.toLowerCase())]).toEqual([
        name,
        field.name,
        [JSON.stringify(value).toLowerCase().replaceAll('"', "")],
      ]);
      reached.set(changed[0]?.[0].replace(/^(path|query|body)\./, "") ?? "", field.name);
    }
    const said = new Map(wanted.map(([member]) => [member, renamed[member] ?? member]));
    for (const member of Object.keys(unasked[name] ?? {})) expect(said.delete(member)).toBe(true);
    expect([name, reached]).toEqual([name, said]);
    for (const [member, schema] of wanted) {
      const field = pkiSchema.type(messages[0]).fields.find((one) => one.name === said.get(member));
      if (field !== undefined && !shape.query.some((one) => one.name === member)) {
        expect([name, member, typeOf(field)]).toEqual([name, member, String(schema.type)]);
      }
    }
  }
});

test("every member of an answer is a field of its message, and the other way about", () => {
  for (const name of names) {
    const { operation, messages } = methods[name];
    const filled = new Map<string, string>();
    const forgotten = new Set<string>();
    for (const answer of told.get(operation) ?? []) {
      for (const path of leavesOf(answer)) {
        const fields = fieldsFilledBy(name, answer, path);
        expect([name, path, fields.length <= 1]).toEqual([name, path, true]);
        const [field] = fields;
        if (field === undefined) forgotten.add(path);
        else {
          expect([name, field, filled.get(field) ?? path]).toEqual([name, field, path]);
          filled.set(field, path);
        }
      }
    }
    const silent = fieldPaths(pkiSchema.type(messages[1])).filter((path) => !filled.has(path));
    const expected = [untold[name] ?? {}, own[name] ?? {}].map((one) => Object.keys(one).sort());
    expect([name, [...forgotten].sort(), silent.sort()]).toEqual([name, ...expected] as never);
  }
});

/** Members of operations that no field asks for; none today. */
const unasked: Reasons = {};

const inventory = {
  id: "a number of this store; certificates are named by CA and serial",
  ct_logs: "what the logs said is told when a certificate is issued",
  ct_status: "as ct_logs",
  sct_count: "as ct_logs",
  reason: "revocation_reason says it as the number of RFC 5280 section 5.3.1",
};
const inMetadata = "addresses and support only: the CA itself is read as JSON";
const inFull =
  "where the list of one scope is and how old; its entries and the other scopes are read as JSON";

/** Members of answers that no field tells; `*` is every element of a list. */
const untold: Reasons = {
  SuspendCertificate: { reason: "it is certificateHold" },
  GetCertificate: inventory,
  GetCertificateStatus: {
    ...inventory,
    ...reasons("GetCertificate tells the rest", [
      "ca_id",
      "certificate",
      "common_name",
      "created_at",
      "not_after",
      "not_before",
      "profile",
      "public_key_fingerprint",
      "requested_by",
      "sans",
      "serial",
      "subject",
      "superseded",
    ]),
  },
  ListCertificates: Object.fromEntries(
    Object.entries(inventory).map(([member, why]) => [`items.*.${member}`, why]),
  ),
  GetCRLMetadata: reasons(inFull, [
    "base.available",
    "base.expired",
    "base.published_at",
    "base.revoked_count",
    "ca_id",
    "delta.base_crl_number",
    "delta.expired",
    "delta.published_at",
    "delta.revoked_count",
    "scopes.*.base.available",
    "scopes.*.base.expired",
    "scopes.*.base.next_update",
    "scopes.*.base.number",
    "scopes.*.base.published_at",
    "scopes.*.base.revoked_count",
    "scopes.*.base.this_update",
    "scopes.*.delta.available",
    "scopes.*.delta.base_crl_number",
    "scopes.*.delta.expired",
    "scopes.*.delta.next_update",
    "scopes.*.delta.number",
    "scopes.*.delta.published_at",
    "scopes.*.delta.revoked_count",
    "scopes.*.delta.this_update",
    "scopes.*.scope",
    "sharded",
  ]),
  GetOCSPMetadata: reasons(inMetadata, [
    "algorithm",
    "certificate",
    "created_at",
    "id",
    "key_type",
    "label",
    "not_after",
    "not_before",
    "parent_id",
    "provider",
    "public_key",
    "public_key_fingerprint",
    "serial",
    "status",
    "subject",
    "tenant_id",
  ]),
};

const byAddress = "made of the base of addresses and of what was asked";
const byConfiguration = "of the configuration";

/** Fields that no member of an answer fills. */
const own: Reasons = {
  ValidateChain: { warnings: "as reasons: only certificates of other CAs make a check warn" },
  ReleaseCertificate: { revoked_at: "the message is that of SuspendCertificate" },
  GetCRLMetadata: { crl_url: byAddress, delta_crl_url: byAddress, scope: byAddress },
  GetOCSPMetadata: {
    delegated_responder: byConfiguration,
    nonce_supported: byConfiguration,
    ocsp_urls: byAddress,
  },
};

function reasons(why: string, members: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(members.map((member) => [member, why]));
}

/** Path, query and body in one, with what each may be. */
function membersOf({ path, query, body }: CallShape): readonly (readonly [string, Json])[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((found) => {
    return [found[1] ?? "", { type: "string" }] as const;
  });
  const properties = Object.entries((body?.properties ?? {}) as Record<string, Json>); // A schema.
  return [...inPath, ...query.map((one) => [one.name, one.schema] as const), ...properties];
}

function typeOf(field: DescField): string {
  if (field.fieldKind === "list") return "array";
  const kind = kindOf(field);
  return kind === "bool" ? "boolean" : kind === "int32" ? "integer" : "string";
}

function sampleOf(field: DescField): MessageValue {
  if (field.fieldKind === "list") return [`${field.name}-1`];
  const kind = kindOf(field);
  if (kind === "bool") return true;
  if (kind === "int32") return 7;
  if (kind === "enum") return "HELD";
  return kind === "timestamp" ? "2026-06-01T12:00:00.000000Z" : `a-${field.name}`;
}

/** The scalars in a value, all of one path together; `*` is every element of a list. */
function flat(value: unknown, path = "", into = new Map<string, string>()): Map<string, string> {
  if (value === undefined) return into;
  if (Array.isArray(value)) {
    for (const one of value) flat(one, isObject(one) ? `${path}.*` : path, into);
    if (value.length > 0 && !value.some(isObject))
      into.set(path.slice(1), `[${value.map(String).join()}]`);
  } else if (isObject(value)) {
    for (const [member, one] of Object.entries(value)) flat(one, `${path}.${member}`, into);
  } else into.set(path.slice(1), [into.get(path.slice(1)), String(value)].filter(Boolean).join());
  return into;
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const leavesOf = (answer: Json): readonly string[] => [...flat(answer).keys()];

/** The fields that say something else when the member does. */
function fieldsFilledBy(name: PkiMethod, answer: Json, path: string): readonly string[] {
  // A truth is set for all elements of a list at once: false has no place in octets.
  const [before, ...others] = [undefined, true, false].map((truth) => {
    return flat(messageOf(name, changedAt(answer, path.split("."), truth) as Json)); // As it was.
  });
  const paths = new Set([before, ...others].flatMap((one) => [...(one?.keys() ?? [])]));
  return [...paths].filter((at) => others.some((one) => one.get(at) !== before?.get(at)));
}

function messageOf(name: PkiMethod, answer: Json): Message {
  const [, response] = pkiMethods[name];
  const message = methods[name].answer(answer, { ca_id: "c" });
  return decodeMessage(pkiSchema, response, encodeMessage(pkiSchema, response, message));
}

/** With another value there; as it is where no truth is given. */
function changedAt(
  value: unknown,
  [member = "", ...rest]: readonly string[],
  truth: boolean | undefined,
): unknown {
  if (truth === undefined) return value;
  if (member === "") return Array.isArray(value) ? [...value, "more"] : changed(value, truth);
  if (member === "*") {
    return Array.isArray(value) ? value.map((one) => changedAt(one, rest, truth)) : value;
  }
  if (!isObject(value) || !(member in value)) return value;
  return { ...value, [member]: changedAt(value[member], rest, truth) };
}

/** Another value of the same kind. */
function changed(value: unknown, truth: boolean): unknown {
  if (typeof value === "boolean") return truth;
  if (typeof value === "number") return value + 1;
  const text = String(value);
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return "2001-01-01T00:00:00.000000Z";
  return ["good", "revoked", "expired"].includes(text) ? "held" : `${text}~`;
}

function fieldPaths(type: DescMessage, path = ""): string[] {
  return type.fields.flatMap((field) => {
    const here = `${path}${field.name}`;
    if (kindOf(field) !== "message" || field.message === undefined) return [here];
    return fieldPaths(field.message, field.fieldKind === "list" ? `${here}.*.` : `${here}.`);
  });
}
