/** An event as a line that collectors of logs read: RFC 5424 and CEF (AEX-2). */

import { parseTimestamp } from "#core/time.ts";
import type { AuditEvent } from "./chain.ts";
import { textsOf } from "./members.ts";

/** Who writes the lines, as they say it themselves. */
export interface LineOrigin {
  /** Name of the host. */
  readonly host: string;
  /** Number of the process. */
  readonly processId: number;
  /** Version of pkid. */
  readonly version: string;
  /** Private enterprise number of whoever runs it (RFC 5424 §7.2.2). */
  readonly enterpriseId: number;
}

/** RFC 5612 §2: the enterprise number of examples, which is nobody's own. */
export const exampleEnterpriseId = 32473;

/**
 * One line of syslog, without its end: header and structured data with every member the event has;
 * there is no free text (RFC 5424 §6). What stands in no header field, in a chain that was edited,
 * is NILVALUE there.
 */
export function rfc5424Line(event: AuditEvent, origin: LineOrigin): string {
  const isDated = parseTimestamp(event.timestamp) !== undefined;
  const header = [
    `<${facility * 8 + severityOf(event).syslog}>1`,
    isDated ? event.timestamp : nil,
    headerField(origin.host, hostMax),
    "pkid",
    String(origin.processId),
    headerField(event.action, messageIdMax),
  ];
  const members = [["seq", String(event.seq)] as const, ...textsOf(event)];
  const params = members.map(([name, text]) => `${name}="${escaped(text, inParameters)}"`);
  return `${header.join(" ")} [pkidAudit@${origin.enterpriseId} ${params.join(" ")}]`;
}

/** One line of the Common Event Format, version 0, without its end; empty members are left out. */
export function cefLine(event: AuditEvent, { version }: LineOrigin): string {
  const { action, actor, result, ip, seq, id, requestId, detail } = event;
  const header = ["pkid", "pkid", version, action, action, String(severityOf(event).cef)];
  const extension = [
    ["rt", String(parseTimestamp(event.timestamp) ?? "")],
    ["suser", actor],
    ["act", action],
    ["outcome", result],
    ["src", ip],
    ["cn1", String(seq)],
    ["externalId", id],
    ["requestId", requestId],
    ["msg", detail],
  ] as const;
  const pairs = extension
    .filter(([, text]) => text !== "")
    .map(([name, text]) => `${name}=${escaped(text, inExtensions)}`);
  const fields = header.map((text) => escaped(text, inHeaders));
  return `CEF:0|${fields.join("|")}|${pairs.join(" ")}`;
}

/**
 * How bad an event is; a result that nobody knows is an error. RFC 5424 §6.2.1: 3 error, 4
 * warning, 6 informational; of CEF 7 is high, 6 medium, 3 low.
 */
function severityOf({ result }: AuditEvent) {
  return severities.get(result) ?? failed;
}

/** RFC 5424 §6: so many printable characters of ASCII, or NILVALUE. */
function headerField(text: string, max: number): string {
  return text.length <= max && /^[!-~]+$/.test(text) ? text : nil;
}

/**
 * The text with a backslash before what `special` matches, which includes the backslash itself.
 * What ends a line for some reader, and every other control, is an escape that nothing else is
 * written as: strangers choose some of these texts, and one line is one event.
 */
function escaped(text: string, special: RegExp): string {
  return text
    .replace(special, "\\$&")
    .replace(
      controls,
      (one) => shortEscapes.get(one) ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

/** RFC 5424 §6.3.3. */
const inParameters = /["\\\]]/g;
const inHeaders = /[\\|]/g;
const inExtensions = /[\\=]/g;
const controls = /[\p{Cc}\u2028\u2029]/gu;
const failed = { syslog: 3, cef: 7 };
const severities: ReadonlyMap<string, typeof failed> = new Map([
  ["success", { syslog: 6, cef: 3 }],
  ["denied", { syslog: 4, cef: 6 }],
  ["error", failed],
]);
const shortEscapes: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
]);
/** RFC 5424 §6.2.1: log audit. */
const facility = 13;
const nil = "-";
const hostMax = 255;
const messageIdMax = 32;
