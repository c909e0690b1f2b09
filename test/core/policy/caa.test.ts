/** CAA: which records decide about a name, and whether they name this CA. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { CaaContent } from "#core/dns/records.ts";
import { type CaaFacts, caaNames, judgeName, judgeSet, parseIssueValue } from "#core/policy/caa.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";
import { dnsName } from "#test/support/worlds/issuance.ts";

const us = "ca.example.net";
const caa = (tag: string, value: string, critical = false): CaaContent => ({
  type: "CAA",
  critical,
  tag,
  value,
});
const host = { use: "host", text: "a.example" } as const;
const wildcard = { use: "wildcard", text: "*.a.example" } as const;
const mailbox = { use: "mailbox", text: "me@a.example" } as const;
const account = "https://acme.example/account/1";
const facts: CaaFacts = {
  accountUrl: account,
  methods: new Map([
    ["a.example", "dns-01"],
    ["*.a.example", "dns-01"],
  ]),
};
const none = undefined;
const withAccount = `${us}; accounturi=${account}`;
const withMethods = `${us}; validationmethods=http-01,dns-01`;

// Columns: what, records, name, facts.
// biome-ignore format: the table is read by column.
const accepted: readonly (readonly [string, readonly CaaContent[], Parameters<typeof judgeSet>[1], CaaFacts | undefined])[] = [
  ["CAA-2: our issue",                         [caa("issue", us)], host, none],
  ["CAA-3: our name in capitals",              [caa("issue", "CA.Example.NET")], host, none],
  ["CAA-2: a tag in capitals",                 [caa("ISSUE", us)], host, none],
  ["CAA-2: ours beside another's",             [caa("issue", "other.example"), caa("issue", us)], host, none],
  ["CAA-2: ours beside nobody's",              [caa("issue", ";"), caa("issue", us)], host, none],
  ["CAA-2: a set without a relevant tag",      [caa("iodef", "mailto:a@a.example")], host, none],
  ["CAA-2: a set for mail, asked for a host",  [caa("issuemail", ";")], host, none],
  ["CAA-2: a set for hosts, asked for mail",   [caa("issue", ";")], mailbox, none],
  ["CAA-2: our issuemail",                     [caa("issuemail", us), caa("issue", ";")], mailbox, none],
  ["CAA-2: our issuewild",                     [caa("issuewild", us), caa("issue", ";")], wildcard, none],
  ["CAA-2: issue where there is no issuewild", [caa("issue", us)], wildcard, none],
  ["CAA-2: issuewild of others, asked a host", [caa("issuewild", ";"), caa("issue", us)], host, none],
  ["CAA-3: an unknown parameter",              [caa("issue", `${us}; policy=ev; x=1`)], host, none],
  ["CAA-3: blanks and a bare semicolon",       [caa("issue", ` \t${us} \t; `)], host, none],
  ["CAA-3: the right account",                 [caa("issue", withAccount)], host, facts],
  ["CAA-3: the right method",                  [caa("issue", withMethods)], host, facts],
  ["CAA-3: both right",                        [caa("issue", `${withAccount}; validationmethods=dns-01`)], wildcard, facts],
  ["CAA-4: an unknown tag that is not critical", [caa("future", "x"), caa("issue", us)], host, none],
  ["CAA-4: a known tag that is critical",      [caa("issue", us, true), caa("iodef", "x", true)], host, none],
];

describe("allowed", () => {
  test.each(accepted)("%s", (_what, records, name, given) => {
    expect(judgeSet(records, name, us, given)).toBeUndefined();
  });
});

// biome-ignore format: the table is read by column.
const refused: readonly (readonly [string, string, readonly CaaContent[], Parameters<typeof judgeSet>[1], CaaFacts | undefined])[] = [
  ["CAA-2: another's issue",                   "forbidden", [caa("issue", "other.example")], host, none],
  ["CAA-2: nobody's issue",                    "forbidden", [caa("issue", ";")], host, none],
  ["CAA-2: an empty issue",                    "forbidden", [caa("issue", "")], host, none],
  ["CAA-2: another's issuemail",               "forbidden", [caa("issuemail", "other.example"), caa("issue", us)], mailbox, none],
  ["CAA-2: another's issuewild beside our issue", "forbidden", [caa("issuewild", ";"), caa("issue", us)], wildcard, none],
  ["CAA-3: a name below ours",                 "forbidden", [caa("issue", `sub.${us}`)], host, none],
  ["CAA-3: a name above ours",                 "forbidden", [caa("issue", "example.net")], host, none],
  ["CAA-3: another account",                   "account_mismatch", [caa("issue", `${withAccount}0`)], host, facts],
  ["CAA-3: an account, asked outside ACME",    "account_mismatch", [caa("issue", withAccount)], host, none],
  ["CAA-3: the account twice",                 "account_mismatch", [caa("issue", `${withAccount}; accounturi=${account}`)], host, facts],
  ["CAA-3: an account in capital tag",         "account_mismatch", [caa("issue", `${us}; AccountURI=x`)], host, facts],
  ["CAA-3: another method",                    "validation_method", [caa("issue", `${us}; validationmethods=http-01`)], host, facts],
  ["CAA-3: a method in other letters",         "validation_method", [caa("issue", `${us}; validationmethods=DNS-01`)], host, facts],
  ["CAA-3: a method, asked outside ACME",      "validation_method", [caa("issue", withMethods)], host, none],
  ["CAA-3: a method, of another name",         "validation_method", [caa("issue", withMethods)], { ...host, text: "b.example" }, facts],
  ["CAA-3: no method at all",                  "validation_method", [caa("issue", `${us}; validationmethods=`)], host, facts],
  ["CAA-3: the nearest miss is told",          "account_mismatch", [caa("issue", ";"), caa("issue", withAccount)], host, none],
  ["CAA-4: an unknown critical tag",           "critical_unknown", [caa("issue", us), caa("future", "", true)], host, none],
  ["CAA-4: an unknown critical tag, for mail", "critical_unknown", [caa("future", "", true)], mailbox, none],
  ["CAA-4: a malformed parameter",             "forbidden", [caa("issue", `${us}; policy`)], host, none],
  ["CAA-4: a semicolon too many",              "forbidden", [caa("issue", `${us}; a=1;`)], host, none],
  ["CAA-4: blanks between parameters",         "forbidden", [caa("issue", `${us}; a=1 b=2`)], host, none],
  ["CAA-4: a name with a trailing dot",        "forbidden", [caa("issue", `${us}.`)], host, none],
  ["CAA-4: a control character",               "forbidden", [caa("issue", `${us}\u0000`)], host, none],
];

describe("refused", () => {
  test.each(refused)("%s: %s", (_what, reason, records, name, given) => {
    expect(judgeSet(records, name, us, given)).toBe(reason as "forbidden");
  });
});

test("without an identifier of our own no record names us, nobody's least of all", () => {
  expect(judgeSet([caa("issue", ";")], host, "", undefined)).toBe("forbidden");
});

test("any text is an issue value or none, in time linear in its length", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary-ascii", maxLength: 80 }), (value) => {
      const parsed = parseIssueValue(value);
      if (parsed !== undefined) expect(value.trimStart().startsWith(parsed.issuer)).toBe(true);
    }),
  );
  for (const octet of [" ", "-", "a", ";", "a.", "a="]) {
    const value = `x${octet.repeat(60_000)}\u0001`;
    expect(parseIssueValue(value)).toBeUndefined();
  }
});

const zone = (records: Readonly<Record<string, readonly CaaContent[] | "failed">>) => {
  const asked: string[] = [];
  const lookup = async (domain: string) => {
    asked.push(domain);
    return records[domain] ?? [];
  };
  return { asked, lookup };
};
const climb = (domain: string, records: Parameters<typeof zone>[0]) => {
  const { asked, lookup } = zone(records);
  const name = { use: "host", text: domain, domain } as const;
  return judgeName(name, us, undefined, lookup).then((verdict) => ({ verdict, asked }));
};

describe("CAA-1: the climb", () => {
  test("goes up to the top-level domain, not to the root, and allows what nobody limits", async () => {
    const { verdict, asked } = await climb("a.b.example", {});
    expect(verdict).toEqual({ allowed: true });
    expect(asked).toEqual(["a.b.example", "b.example", "example"]);
  });

  test("ends at the first set that is not empty, be it without a relevant tag", async () => {
    const { verdict, asked } = await climb("a.b.example", {
      "b.example": [caa("iodef", "mailto:x@b.example")],
      example: [caa("issue", ";")],
    });
    expect(verdict).toEqual({ allowed: true });
    expect(asked).toEqual(["a.b.example", "b.example"]);
  });

  test("refuses by the set of a parent and says where it was and whom it wants told", async () => {
    const iodef = caa("iodef", "mailto:sec@b.example");
    const { verdict } = await climb("a.b.example", { "b.example": [caa("issue", ";"), iodef] });
    expect(verdict).toEqual({
      allowed: false,
      reason: "forbidden",
      domain: "b.example",
      iodef: ["mailto:sec@b.example"],
    });
  });

  test("CAA-5: ends at a lookup that failed, which is never an empty set", async () => {
    const { verdict, asked } = await climb("a.b.example", { "b.example": "failed" });
    expect(verdict).toMatchObject({ allowed: false, reason: "lookup_error", domain: "b.example" });
    expect(asked).toEqual(["a.b.example", "b.example"]);
  });
});

describe("the names that are asked about", () => {
  const subject = (...attributes: NameAttribute[]) => encodeName(attributes);

  test("are DNS names, wildcards by the name below the star, and the domains of mailboxes", () => {
    const sans = [
      dnsName("a.example"),
      dnsName("*.b.example"),
      { kind: "email", value: "Me@Mail.Example" } as const,
      { kind: "ip", value: "192.0.2.1" } as const,
      { kind: "uri", value: "https://u.example" } as const,
    ];
    expect(caaNames({ sans, subject: subject() })).toEqual([
      { text: "a.example", domain: "a.example", use: "host" },
      { text: "*.b.example", domain: "b.example", use: "wildcard" },
      { text: "Me@Mail.Example", domain: "mail.example", use: "mailbox" },
    ]);
  });

  test("include a common name that is a host name and the mailboxes of the subject, each once", () => {
    const names = caaNames({
      sans: [dnsName("a.example")],
      subject: subject(
        { type: "CN", value: "A.example" },
        { type: "emailAddress", value: "me@c.example" },
      ),
    });
    expect(names.map(({ domain, use }) => [domain, use])).toEqual([
      ["a.example", "host"],
      ["c.example", "mailbox"],
    ]);
    expect(caaNames({ sans: [], subject: subject({ type: "CN", value: "Some One" }) })).toEqual([]);
  });

  test("include every common name, whatever stands around it", () => {
    const values = ["\u00a0a.example.", "Some One", "b.example", "192.0.2.1"];
    const named = subject(...values.map((value) => ({ type: "CN", value })));
    const found = caaNames({ sans: [], subject: named }).map(({ domain }) => domain);
    expect(found).toEqual(["a.example", "b.example"]);
  });

  test("a number is refused without a question, for to some it is an address", async () => {
    const asked: string[] = [];
    const lookup = async (domain: string) => {
      asked.push(domain);
      return [];
    };
    for (const value of ["127.1", "2130706433", "a.0x7f"]) {
      const [name] = caaNames({ sans: [dnsName(value)], subject: subject() });
      if (name === undefined) throw new Error("a DNS name is asked about");
      const verdict = await judgeName(name, "ca.example", undefined, lookup);
      expect(verdict).toMatchObject({ allowed: false, reason: "lookup_error" });
    }
    expect(asked).toEqual([]);
  });
});
