/**
 * Which principal a client certificate stands for: every selector, alone and together, and what
 * resembles a match.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  ambiguousFor,
  type Binding,
  bindingFor,
  clientNames,
  type Selectors,
  selects,
} from "#core/access/client-bindings.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { parseNameText } from "#core/x509/name-text.ts";
import type { NameAttribute } from "#core/x509/names.ts";
import { bindingsOf } from "#core/access/binding-rows.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";

const root = OutsideCa.root("Outside");

const namesOf = (subject: readonly NameAttribute[], sans?: readonly GeneralName[]) => {
  const { chain } = root.client({ subject, ...(sans && { sans }) });
  return clientNames(parseCertificate(chain[0] ?? new Uint8Array()));
};
const cn = (value: string) => [{ type: "CN", value }];

const bound = (selectors: Selectors, subject = "robot"): Binding => ({
  name: undefined,
  selectors,
  subject,
  roles: [],
  tenantRoles: {},
});
const matches = (names: ReturnType<typeof namesOf>, selectors: Selectors) =>
  bindingFor(names, [bound(selectors)]) !== undefined;

describe("one selector", () => {
  const names = namesOf(
    [
      { type: "O", value: "Example" },
      { type: "CN", value: "robot" },
    ],
    [
      { kind: "dns", value: "robot.example.com" },
      { kind: "uri", value: "spiffe://example.com/robot" },
      { kind: "email", value: "Robot@Example.com" },
    ],
  );

  test("is met by that name, and by no other spelling but those the kind has", () => {
    expect(matches(names, { subjectCn: "robot" })).toBe(true);
    expect(matches(names, { subjectCn: "Robot" })).toBe(false);
    expect(matches(names, { sanUri: "spiffe://example.com/robot" })).toBe(true);
    expect(matches(names, { sanUri: "spiffe://example.com/robot/" })).toBe(false);
    expect(matches(names, { sanEmail: "Robot@example.com" })).toBe(true);
    expect(matches(names, { sanEmail: "robot@example.com" })).toBe(false);
    expect(matches(names, { sanDns: "robot.example.com" })).toBe(true);
    expect(matches(names, { sanDns: "example.com" })).toBe(false);
  });

  test("is not met by a name of another kind that reads the same", () => {
    expect(matches(namesOf(cn("robot.example.com")), { sanDns: "robot.example.com" })).toBe(false);
    const dns = namesOf(cn("x"), [{ kind: "dns", value: "robot" }]);
    expect(matches(dns, { subjectCn: "robot" })).toBe(false);
    const uri = namesOf(cn("x"), [{ kind: "uri", value: "robot@example.com" }]);
    expect(matches(uri, { sanEmail: "robot@example.com" })).toBe(false);
  });

  test("of a DNS name has no case, as the configuration writes it", () => {
    const [binding] = bindingsOf([
      { ...empty, san_dns: "ROBOT.Example.COM", subject: "robot", roles: ["issuer", "nonsense"] },
    ]);
    expect(binding?.roles).toEqual(["issuer"]);
    expect(bindingFor(names, binding ? [binding] : [])?.subject).toBe("robot");
  });

  test("of the whole subject is met by that subject alone, whatever string types it has", () => {
    const subjectDn = parseNameText("CN=robot,O=Example");
    expect(matches(names, { ...(subjectDn && { subjectDn }) })).toBe(true);
    for (const other of [
      "CN=robot",
      "O=Example,CN=robot",
      "CN=robot+O=Example",
      "cn=ROBOT,o=Example",
    ]) {
      const key = parseNameText(other);
      expect([other, key !== undefined]).toEqual([other, true]);
      expect(matches(names, { ...(key && { subjectDn: key }) })).toBe(false);
    }
  });

  test("of the common name is met by none of several, and by the whole subject all the same", () => {
    const two = namesOf([...cn("robot"), ...cn("stranger")]);
    expect(matches(two, { subjectCn: "robot" })).toBe(false);
    expect(matches(two, { subjectCn: "stranger" })).toBe(false);
    const subjectDn = parseNameText("CN=stranger,CN=robot");
    expect(matches(two, { ...(subjectDn && { subjectDn }) })).toBe(true);
    const bindings = [bound({ sanDns: "a.test" }), bound({ subjectCn: "stranger" }, "met")];
    expect(ambiguousFor(two, bindings)?.subject).toBe("met");
    expect(ambiguousFor(two, [bound({ subjectCn: "other" })])).toBeUndefined();
    expect(ambiguousFor(namesOf(cn("stranger")), bindings)).toBeUndefined();
  });
});

describe("bindings", () => {
  test("want every selector met, and the first that is met counts", () => {
    const names = namesOf(cn("robot"), [{ kind: "dns", value: "robot.example" }]);
    const both = bound({ subjectCn: "robot", sanDns: "robot.example" }, "both");
    const wrong = bound({ subjectCn: "robot", sanDns: "other.example" }, "wrong");
    const one = bound({ subjectCn: "robot" }, "one");
    expect(bindingFor(names, [wrong, both, one])?.subject).toBe("both");
    expect(bindingFor(names, [one, both])?.subject).toBe("one");
    expect(bindingFor(names, [wrong])).toBeUndefined();
  });

  test("without a selector bind nobody, and are dropped", () => {
    expect(matches(namesOf(cn("robot")), {})).toBe(false);
    expect(bindingsOf([{ ...empty, subject: "everybody", roles: ["admin"] }])).toEqual([]);
    expect(bindingsOf([{ ...empty, subject_cn: "", san_dns: "", subject: "everybody" }])).toEqual(
      [],
    );
  });

  test("a certificate meets selectors exactly when each names one of its names", () => {
    const word = fc.constantFrom("a", "b", "c");
    const given = fc.record({
      cn: word,
      dns: fc.array(word),
      uris: fc.array(word),
      emails: fc.array(word),
    });
    const wanted = fc.record(
      { subjectCn: word, sanDns: word, sanUri: word, sanEmail: word },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(given, wanted, (of, selectors) => {
        const subject = parseNameText(`CN=${of.cn}`);
        if (subject === undefined) throw new Error("the name is one");
        const names = {
          commonNames: [of.cn],
          subject,
          dns: of.dns,
          uris: of.uris,
          emails: of.emails,
        };
        const met = [
          selectors.subjectCn === undefined || selectors.subjectCn === of.cn,
          selectors.sanDns === undefined || of.dns.includes(selectors.sanDns),
          selectors.sanUri === undefined || of.uris.includes(selectors.sanUri),
          selectors.sanEmail === undefined || of.emails.includes(selectors.sanEmail),
        ].every(Boolean);
        expect(matches(names, selectors)).toBe(met && selects(selectors));
      }),
    );
  });
});

const empty = {
  name: undefined,
  subject_cn: undefined,
  subject_dn: undefined,
  san_dns: undefined,
  san_uri: undefined,
  san_email: undefined,
  subject: undefined,
  roles: [],
  tenant_roles: {},
};
