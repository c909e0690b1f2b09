/** What a CA in service is asked, by kind, and how often of a hundred. */

import { readFileSync } from "node:fs";

import type { Instance } from "#test/support/instances/instance.ts";
import { issueRequest } from "./issue-request.ts";
import { newTarget, question } from "./ocsp.ts";

export const shares = {
  ocsp_cached: 70,
  ocsp_fresh: 10,
  issue: 10,
  list: 5,
  crl: 4,
  revoke: 1,
} as const;

export type Kind = keyof typeof shares;

export const kinds = Object.keys(shares) as readonly Kind[]; // The table's own keys.

/** A request of one kind; `serial` stands in the body of a revocation for the one it is about. */
export interface KindRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
}

/** In the place of a serial. */
export const serialPlace = "SERIAL";

/** The requests for one CA of an instance, on its main listener. */
export async function kindRequests(
  instance: Instance,
  ca: string,
): Promise<Readonly<Record<Kind, KindRequest>>> {
  const target = await newTarget(instance, ca, instance.url);
  const issue = await issueRequest(instance, ca);
  const path = `/api/ca/${ca}`;
  const { headers } = issue;
  const cached = encodeURIComponent(Buffer.from(question(target)).toString("base64"));
  const get = (end: string): KindRequest => ({
    method: "GET",
    path: path + end,
    headers: {},
    body: "",
  });
  const { authorization = "" } = headers;
  return {
    ocsp_cached: get(`/ocsp/${cached}`),
    ocsp_fresh: {
      method: "POST",
      path: `${path}/ocsp`,
      headers: { "content-type": "application/ocsp-request" },
      body: question(target, new Uint8Array(32).fill(5)),
    },
    issue: { method: "POST", path: `${path}/issue`, headers, body: issue.body },
    list: { method: "GET", path: `${path}/certificates`, headers: { authorization }, body: "" },
    crl: get("/crl"),
    revoke: {
      method: "POST",
      path: `${path}/revoke`,
      headers,
      body: JSON.stringify({ serial: serialPlace, reason: "superseded" }),
    },
  };
}

/** The script with which wrk draws them, and counts what it drew. */
export function mixedScript(requests: Readonly<Record<Kind, KindRequest>>): string {
  const rows = kinds.map((kind) => {
    const { method, path, headers, body } = requests[kind];
    const fields = Object.entries(headers).map(([name, value]) => `[${lua(name)}] = ${lua(value)}`);
    const facts = [kind, method, path, body].map(lua);
    return `  { ${facts.join(", ")}, { ${fields.join(", ")} }, ${shares[kind]} },`;
  });
  return `local kinds = {\n${rows.join("\n")}\n}\nlocal place = ${lua(serialPlace)}\n${drawing()}`;
}

/** What wrk printed of each kind, and how its answers were. */
export interface Drawn {
  readonly sent: Readonly<Record<Kind, number>>;
  readonly issued: number;
  readonly revoked: number;
  /** Connections that were asked to be closed after an answer. */
  readonly closed: number;
  /** Answers that refused, and the first of them. */
  readonly refused: number;
  readonly refusal: string;
}

/** Reads the lines that the script prints at its end. */
export function parsedDrawn(text: string): Drawn {
  const count = (name: string) =>
    Number(new RegExp(`^drawn ${name} (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  const sent = Object.fromEntries(kinds.map((kind) => [kind, count(`sent_${kind}`)]));
  return {
    sent: sent as Record<Kind, number>, // Made of every kind.
    issued: count("issued"),
    revoked: count("revoked"),
    closed: count("closed"),
    refused: count("refused"),
    refusal: /^refusal (.*)$/m.exec(text)?.[1] ?? "",
  };
}

const drawing = (): string => readFileSync(new URL("mixed.lua", import.meta.url), "utf8");

/** A Lua string of any octets: decimal escapes of three digits. */
function lua(value: string | Uint8Array): string {
  const octets = typeof value === "string" ? Buffer.from(value) : value;
  return `"${[...octets].map((octet) => `\\${String(octet).padStart(3, "0")}`).join("")}"`;
}
