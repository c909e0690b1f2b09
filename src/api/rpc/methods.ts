/**
 * THE REMOTE PROCEDURES: each method with the operation it is the twin of, and how members of the
 * two are named.
 */

import type { Message, MessageValue } from "#core/protobuf/schema.ts";
import type { RpcAnswer, RpcMethod, RpcQuestion } from "#http/rpc/door.ts";
import type { OperationName } from "#operations";

import { type PkiMethod, pkiMethods } from "./messages.ts";

/** What GetOCSPMetadata and GetCRLMetadata tell beside the answers of operations. */
export interface RpcFacts {
  readonly crl: {
    /** Base of the addresses that certificates name; undefined when none is set. */
    readonly base_url: string | undefined;
  };
  readonly ocsp: { readonly nonce_enabled: boolean; readonly delegated: boolean };
}

type Twin = readonly [
  operation: OperationName,
  ask: (message: Message) => RpcQuestion,
  answer: (answer: RpcAnswer, asked: Message) => Message,
];

/** Every method of the service; a method of pki.proto without a row does not compile. */
export function rpcMethods(facts: RpcFacts): Readonly<Record<PkiMethod, RpcMethod>> {
  // biome-ignore format: the table is read by column.
  const twins = {
    IssueCertificate:     ["cert.issue",   withBody("csr_pem", "profile", "validity_days", "must_staple"), certificate],
    PreviewCertificate:   ["cert.preview", withBody("csr_pem", "profile", "validity_days", "must_staple", "common_name", ...nameLists), same],
    ValidateChain:        ["cert.validate", validated, same],
    RenewCertificate:     ["cert.renew",   withBody("serial", "csr_pem", "validity_days"), certificate],
    RevokeCertificate:    ["cert.revoke",  withBody("serial", "reason"), same],
    SuspendCertificate:   ["cert.suspend", bySerial, same],
    ReleaseCertificate:   ["cert.release", bySerial, same],
    GetCertificate:       ["cert.show",    bySerial, (answer) => ({ certificate: certificateInfo(answer) })],
    GetCertificateStatus: ["cert.show",    bySerial, certificateInfo],
    ListCertificates:     ["cert.list",    listQuery, certificateList],
    GetCRLMetadata:       ["crl.status",   byShard, (answer, asked) => crlMetadata(facts, answer, asked)],
    GetOCSPMetadata:      ["ca.show",      byCa, (_, asked) => ocspMetadata(facts, asked)],
  } as const satisfies Record<PkiMethod, Twin>;
  const methods = Object.entries<Twin>(twins).map(([name, [operation, ask, answer]]) => {
    const messages = pkiMethods[name as PkiMethod]; // A key of the table above.
    const renamed = renamedMembers[operation] ?? {};
    return [name, { operation, messages, renamed, ask, answer }];
  });
  return Object.fromEntries(methods) as Record<PkiMethod, RpcMethod>; // One per key of the table.
}

/** Members and parameters of REST that have another name in messages, by operation. */
const renamedMembers: Partial<Record<OperationName, Readonly<Record<string, string>>>> = {
  "cert.issue": { id: "ca_id", csr: "csr_pem" },
  "cert.preview": { id: "ca_id", csr: "csr_pem" },
  "cert.renew": { id: "ca_id", csr: "csr_pem" },
  "cert.validate": { ca: "ca_id", certificate: "leaf_pem", intermediates: "intermediates_pem" },
  "cert.list": { id: "ca_id", q: "query" },
  "cert.revoke": { id: "ca_id" },
  "cert.suspend": { id: "ca_id" },
  "cert.release": { id: "ca_id" },
  "cert.show": { id: "ca_id" },
  "crl.status": { id: "ca_id" },
  "ca.show": { id: "ca_id" },
};

/** Members under the names of REST. */
const withBody =
  (...members: readonly string[]) =>
  (message: Message): RpcQuestion => {
    const given = members.map((name) => [name.replace(/_pem$/, ""), message[name]]);
    return { ...byCa(message), ...Object.fromEntries(given) };
  };

const byCa = (message: Message): RpcQuestion => ({ id: textOf(message.ca_id) });

const byShard = (message: Message): RpcQuestion => ({
  ...byCa(message),
  shard: message.shard === undefined ? undefined : String(message.shard),
});

const bySerial = (message: Message): RpcQuestion => ({
  id: textOf(message.ca_id),
  serial: textOf(message.serial),
});

const validated = (message: Message): RpcQuestion => ({
  ca: textOf(message.ca_id),
  certificate: message.leaf_pem,
  intermediates: message.intermediates_pem,
  skip_revocation: message.skip_revocation,
});

function listQuery(message: Message): RpcQuestion {
  const { limit, cursor, status, profile, query, serial_prefix, expires_before } = message;
  return {
    ...byCa(message),
    limit,
    cursor: textOf(cursor),
    profile: textOf(profile),
    q: textOf(query),
    status: status === "UNSPECIFIED" ? undefined : textOf(status).toLowerCase(),
    serial_prefix: textOf(serial_prefix),
    expires_before: textOf(expires_before),
    public_key_sha256: textOf(message.public_key_sha256),
    certificate_sha256: textOf(message.certificate_sha256),
    requested_by: textOf(message.requested_by),
  };
}

/** Answers whose members have the names of the message. */
const same = (answer: RpcAnswer): Message => messageOf(answer);

const certificate = (answer: RpcAnswer): Message => ({
  ...messageOf(answer),
  certificate_pem: textOf(answer.certificate),
  chain_pem: textOf(answer.chain),
});

const certificateInfo = (answer: RpcAnswer): Message => ({
  ...messageOf(answer),
  certificate_pem: textOf(answer.certificate),
  status: textOf(answer.status).toUpperCase(),
});

function certificateList(answer: RpcAnswer): Message {
  const items = Array.isArray(answer.items) ? answer.items : [];
  return { ...messageOf(answer), certificates: items.map(certificateInfo) };
}

/** Of the full scope, or of the partition that was asked for. */
function crlMetadata({ crl }: RpcFacts, answer: RpcAnswer, asked: Message): Message {
  const { base, delta, shard_count } = messageOf(answer);
  const { number, this_update, next_update } = messageOf(base);
  const later = messageOf(delta);
  const { shard } = asked;
  const partition = shard === undefined ? "" : `/partition/${String(shard)}`;
  const crl_url = `${crl.base_url ?? ""}/api/ca/${textOf(asked.ca_id)}/crl${partition}`;
  return {
    scope: shard === undefined ? "full" : `partition-${String(shard)}`,
    shard_count,
    crl_number: number,
    this_update,
    next_update,
    crl_url,
    delta_crl_url: `${crl_url}/delta`,
    delta_available: later.available === true,
    delta_crl_number: later.number,
    delta_this_update: later.this_update,
    delta_next_update: later.next_update,
  };
}

const ocspMetadata = ({ crl, ocsp }: RpcFacts, asked: Message): Message => ({
  ocsp_urls: [`${crl.base_url ?? ""}/api/ca/${textOf(asked.ca_id)}/ocsp`],
  nonce_supported: ocsp.nonce_enabled,
  delegated_responder: ocsp.delegated,
});

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Answers of handlers are plain JSON, as messages are. */
function messageOf(value: unknown): Record<string, MessageValue | undefined> {
  if (typeof value !== "object" || value === null) return {};
  return value as Record<string, MessageValue | undefined>; // See above.
}

const nameLists = ["dns_names", "ip_addresses", "email_addresses", "uris"] as const;
