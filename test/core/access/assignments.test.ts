/** Roles of an identity: the union of what names it, and nothing by accident. */

import { describe, expect, test } from "bun:test";

import { type Identity, rolesOf } from "#core/access/assignments.ts";
import { reservedSubject } from "#core/access/subject.ts";
import { tenantId } from "#core/ids.ts";

const nobody: Identity = {
  voucher: "oidc",
  issuer: "https://id.x.test",
  subject: "s",
  loginName: "n",
  emailVerified: false,
  groups: [],
  claims: {},
};
const none = { subjects: {}, groups: {} };

describe("rbac", () => {
  test("counts the subject, the verified address and every group", () => {
    const assignments = {
      subjects: { s: ["auditor"], "s@x.test": ["issuer"] },
      groups: { ops: ["approver"], more: ["auditor"] },
    } as const;
    const identity = { ...nobody, email: "s@x.test", groups: ["ops", "more", "other"] };
    expect(rolesOf({ ...identity, emailVerified: true }, assignments, []).roles).toEqual([
      "auditor",
      "issuer",
      "approver",
    ]);
    expect(rolesOf(identity, assignments, []).roles).toEqual(["auditor", "approver"]);
  });

  test("takes a key with an at sign for an address, never for a subject", () => {
    const assignments = { subjects: { "root@x.test": ["admin"] }, groups: {} } as const;
    expect(rolesOf({ ...nobody, subject: "root@x.test" }, assignments, []).roles).toEqual([]);
    const named = { ...nobody, subject: "t", email: "s", emailVerified: true };
    expect(rolesOf(named, { subjects: { s: ["admin"] }, groups: {} }, []).roles).toEqual([]);
  });

  test("of a tenant gives its roles there and nowhere else, beside those of mappings", () => {
    const tenants = {
      web: { subjects: { s: ["issuer"] }, groups: { ops: ["auditor"] } },
      lab: { subjects: { other: ["admin"] }, groups: {} },
    } as const;
    const identity = { ...nobody, groups: ["ops"], claims: { g: ["x"] } };
    const tenant = tenantId("web");
    const mapping = { claim: "g", value: "x", tenant, roles: ["approver"] } as const;
    expect(rolesOf(identity, { ...none, tenants }, [mapping])).toEqual({
      roles: [],
      tenantRoles: { web: ["approver", "issuer", "auditor"] },
    });
  });

  test("inherits nothing from the language", () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      const identity = { ...nobody, subject: name, groups: [name] };
      expect(rolesOf(identity, none, []).roles).toEqual([]);
      const mapping = { claim: name, value: "x", tenant: undefined, roles: ["admin"] } as const;
      expect(rolesOf(identity, none, [mapping]).roles).toEqual([]);
    }
  });
});

describe("a mapping", () => {
  const mapping = { claim: "groups", value: "ops", tenant: undefined, roles: ["issuer"] } as const;
  const ops = { ...nobody, claims: { groups: ["dev", "ops"] } };

  test("matches a whole value, never a part of one", () => {
    expect(rolesOf(ops, none, [mapping]).roles).toEqual(["issuer"]);
    for (const value of ["op", "ops ", "OPS", "dev,ops"]) {
      expect(rolesOf(ops, none, [{ ...mapping, value }]).roles).toEqual([]);
    }
  });

  test("with a tenant gives its roles there and nowhere else", () => {
    const tenant = tenantId("t");
    const mappings = [
      { ...mapping, tenant },
      { ...mapping, tenant, roles: ["auditor", "issuer"] as const },
    ];
    expect(rolesOf(ops, none, mappings)).toEqual({
      roles: [],
      tenantRoles: { t: ["issuer", "auditor"] },
    });
  });
});

test("a group that is a distinguished name is the same in every spelling, by rbac and by mappings", () => {
  const held = "CN=Ops\\, EU,OU=Groups,DC=example,DC=com";
  const identity = { ...nobody, groups: [held], claims: { g: [held] } };
  const groups = { "cn=ops\\2c eu,ou=groups,dc=example,dc=com": ["issuer"] } as const;
  expect(rolesOf(identity, { subjects: {}, groups }, []).roles).toEqual(["issuer"]);
  const value = "commonName=ops\\, eu, ou=groups, dc=example, dc=com";
  const mapping = { claim: "g", value, tenant: undefined, roles: ["auditor"] } as const;
  expect(rolesOf(identity, none, [mapping]).roles).toEqual(["auditor"]);
  const other = { ...mapping, value: "cn=ops,ou=eu,ou=groups,dc=example,dc=com" };
  expect(rolesOf(identity, none, [other]).roles).toEqual([]);
  const plain = { ...nobody, groups: ["OPS", "constructor"] };
  expect(rolesOf(plain, { subjects: {}, groups: { ops: ["admin"] } }, []).roles).toEqual([]);
});

test("what means something inside pkid is nobody's subject outside", () => {
  for (const subject of [
    "root",
    "ROOT",
    "token:1",
    "local:x",
    "system:crl",
    "anonymous",
    "acme:1",
  ]) {
    expect([subject, reservedSubject(subject)]).toEqual([subject, true]);
  }
  for (const subject of ["alice", "rooty", "tokens:1", "x:root"]) {
    expect([subject, reservedSubject(subject)]).toEqual([subject, false]);
  }
});
