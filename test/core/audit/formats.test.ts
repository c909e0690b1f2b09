/** Lines of events, read back by small parsers that know nothing of how they were written. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { AuditEvent } from "#core/audit/chain.ts";
import { cefLine, exampleEnterpriseId, rfc5424Line } from "#core/audit/formats.ts";
import { textsOf } from "#core/audit/members.ts";
import { anySaid, chained } from "#test/support/worlds/audit-chain.ts";

const origin = {
  host: "ca1.example.com",
  processId: 4711,
  version: "1.2.3",
  enterpriseId: exampleEnterpriseId,
};
const eventOf = (said: Parameters<typeof chained>[0][number]): AuditEvent => {
  const [event] = chained([said]);
  if (event === undefined) throw new Error("a chain of one has one");
  return event;
};
const anyEvent = anySaid.map(eventOf);
/** What a reader somewhere takes for the end of a line. */
const lineEnds = /[\n\r\v\f\u0085\u2028\u2029]/;

const plain: AuditEvent = eventOf({
  id: "0d7f5f3e-8d0e-4d3c-9a7e-0c6f7f0a1b2c",
  timestamp: "2026-06-01T12:00:00.000000Z",
  actor: "alice",
  actorName: 'Alice "Al" [ops]',
  actorRoles: "",
  action: "cert.issue",
  result: "success",
  tenant: "",
  target: "c1",
  targetName: "12",
  caId: "c1",
  serial: "12",
  detail: 'profile=server reason="a\\\\b|c"',
  ip: "192.0.2.1",
  requestId: "r1",
});

test("a line of syslog has header and every member, and nothing behind it", () => {
  expect(rfc5424Line(plain, origin)).toBe(
    `<110>1 2026-06-01T12:00:00.000000Z ca1.example.com pkid 4711 cert.issue [pkidAudit@32473 seq="1" id="${plain.id}" timestamp="${plain.timestamp}" actor="alice" action="cert.issue" result="success" actor_name="Alice \\"Al\\" [ops\\]" target="c1" target_name="12" ca_id="c1" serial="12" detail="profile=server reason=\\"a\\\\\\\\b|c\\"" ip="192.0.2.1" request_id="r1" prev_hash="${plain.prevHash}" hash="${plain.hash}"]`,
  );
});

test("a line of CEF has the members that its dictionary knows", () => {
  expect(cefLine(plain, origin)).toBe(
    `CEF:0|pkid|pkid|1.2.3|cert.issue|cert.issue|3|rt=1780315200000 suser=alice act=cert.issue outcome=success src=192.0.2.1 cn1=1 externalId=${plain.id} requestId=r1 msg=profile\\=server reason\\="a\\\\\\\\b|c"`,
  );
});

test.each([
  ["success", 110, 3],
  ["denied", 108, 6],
  ["error", 107, 7],
  ["of another version", 107, 7],
])(
  "the result %s is priority %d of syslog and severity %d of CEF",
  (result, priority, severity) => {
    const event = { ...plain, result };
    expect(rfc5424Line(event, origin)).toStartWith(`<${priority}>1 `);
    expect(cefLine(event, origin).split("|")[6]).toBe(String(severity));
  },
);

test("what cannot stand in a header is said to be nothing, and members keep it", () => {
  const odd = { ...plain, timestamp: "yesterday", action: "no action" };
  const line = rfc5424Line(odd, { ...origin, host: "two words" });
  expect(line).toStartWith("<110>1 - - pkid 4711 - [pkidAudit@32473 ");
  expect(line).toContain('timestamp="yesterday"');
  expect(cefLine(odd, origin)).toContain("|3|suser=alice ");
});

describe("whatever the texts are", () => {
  test("a line of syslog reads back as the members of the event", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const line = rfc5424Line(event, origin);
        expect(line).not.toMatch(lineEnds);
        expect(readSyslog(line)).toEqual([["seq", String(event.seq)], ...textsOf(event).map(copy)]);
      }),
    );
  });

  test("a line of CEF reads back as the members that it has", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const line = cefLine(event, origin);
        expect(line).not.toMatch(lineEnds);
        const { header, extension } = readCef(line);
        expect(header.slice(1, 6)).toEqual(["pkid", "pkid", "1.2.3", event.action, event.action]);
        const told = {
          rt: String(Date.parse(event.timestamp)),
          suser: event.actor,
          act: event.action,
          outcome: event.result,
          src: event.ip,
          cn1: String(event.seq),
          externalId: event.id,
          requestId: event.requestId,
          msg: event.detail,
        };
        expect(extension).toEqual(Object.entries(told).filter(([, text]) => text !== ""));
      }),
    );
  });

  test("a version with separators in it stays one field of CEF", () => {
    fc.assert(
      fc.property(fc.string(), (version) => {
        const { header } = readCef(cefLine(plain, { ...origin, version }));
        expect(header[3]).toBe(version);
      }),
    );
  });
});

const copy = ([name, text]: readonly [string, string]): [string, string] => [name, text];

/** RFC 5424 §6.3, one octet after the other. */
function readSyslog(line: string): [string, string][] {
  const start = line.indexOf(" [pkidAudit@32473");
  const params: [string, string][] = [];
  let at = start + " [pkidAudit@32473".length;
  while (line[at] === " ") {
    const equals = line.indexOf('="', at);
    const name = line.slice(at + 1, equals);
    let text = "";
    for (at = equals + 2; line[at] !== '"'; at++) {
      if (at >= line.length) throw new Error("a value without end");
      if (line[at] === "]") throw new Error("a bare ]");
      if (line[at] !== "\\") text += line[at];
      else [text, at] = escapedAt(line, at, text, '"\\]');
    }
    params.push([name, text]);
    at++;
  }
  if (line.slice(at) !== "]") throw new Error(`something behind: ${line.slice(at)}`);
  return params;
}

/** Seven fields, and pairs whose names begin behind the last blank before a bare equals sign. */
function readCef(line: string) {
  const header: string[] = [];
  let [text, at] = ["", 0];
  for (; header.length < 7; at++) {
    if (line[at] === "|") {
      header.push(text);
      text = "";
    } else if (line[at] === "\\") [text, at] = escapedAt(line, at, text, "\\|");
    else if (at >= line.length) throw new Error("a header without end");
    else text += line[at];
  }
  const extension: [string, string][] = [];
  const pair = /(?:^| )(rt|suser|act|outcome|src|cn1|externalId|requestId|msg)=/y;
  const rest = line.slice(at);
  for (let place = 0; place < rest.length; ) {
    pair.lastIndex = place;
    const name = pair.exec(rest)?.[1];
    if (name === undefined) throw new Error(`no pair at ${rest.slice(place)}`);
    let value = "";
    for (place = pair.lastIndex; place < rest.length; place++) {
      pair.lastIndex = place;
      if (rest[place] === " " && pair.test(rest)) break;
      if (rest[place] === "=") throw new Error("a bare =");
      if (rest[place] !== "\\") value += rest[place];
      else [value, place] = escapedAt(rest, place, value, "\\=");
    }
    extension.push([name, value]);
  }
  return { header, extension };
}

/** The text with what the escape at `at` stands for, and the place of the escape's last octet. */
function escapedAt(line: string, at: number, text: string, known: string): [string, number] {
  const next = line[at + 1] ?? "";
  if (known.includes(next)) return [text + next, at + 1];
  if (next === "n") return [`${text}\n`, at + 1];
  if (next === "r") return [`${text}\r`, at + 1];
  const code = /^u([0-9a-f]{4})/.exec(line.slice(at + 1))?.[1];
  if (code === undefined) throw new Error(`an unknown escape: ${line.slice(at, at + 6)}`);
  return [text + String.fromCharCode(Number.parseInt(code, 16)), at + 5];
}
