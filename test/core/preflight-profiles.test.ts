/** The judgements of preflight over profiles and over the ways to log in. */

import { expect, test } from "bun:test";

import type { Profile } from "#core/policy/profile.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import {
  judgeCaaIdentifier,
  judgeCleartext,
  judgeGates,
  judgeRoot,
} from "#core/preflight/profiles.ts";

const server = new ProfileSet().named("server");
const publicServer: Profile = {
  ...server,
  lint: { ...server.lint, public: true },
  caa: { ...server.caa, mode: "enforce", identifier: "pki.example" },
};

test("every built-in profile has its gates on", () => {
  expect(judgeGates(new ProfileSet().sorted()).status).toBe("pass");
});

test("a gate that is off or only warns is a warning, and off in a public profile a failure", () => {
  const gates = (of: Profile, more: Partial<Profile>) => judgeGates([{ ...of, ...more }]);
  const off = { keyChecks: { ...server.keyChecks, disabled: true } };
  expect(gates(server, off)).toEqual({ status: "warn", detail: "server: key checks off." });
  expect(gates(publicServer, off).status).toBe("fail");
  expect(gates(publicServer, {}).status).toBe("pass");
  const lint = (of: Profile, more: object) => gates(of, { lint: { ...of.lint, ...more } }).status;
  expect(lint(server, { disabled: true })).toBe("warn");
  expect(lint(publicServer, { disabled: true })).toBe("fail");
  expect(lint(publicServer, { mode: "warn" })).toBe("warn");
  expect(lint(server, { overrides: { any: "warn" } })).toBe("warn");
  expect(lint(server, { overrides: { any: "enforce" } })).toBe("pass");
  const caa = (of: Profile, mode: Profile["caa"]["mode"]) =>
    gates(of, { caa: { ...of.caa, mode } });
  expect([caa(server, "off").status, caa(publicServer, "off").status]).toEqual(["pass", "fail"]);
  expect(caa(server, "permissive").detail).toBe("server: caa only warn.");
});

test("CAA that is enforced needs a name of our own, and in a public profile it is enforced", () => {
  const judged = (of: Profile, mode: Profile["caa"]["mode"], own?: string, ours?: string) =>
    judgeCaaIdentifier([{ ...of, caa: { ...of.caa, mode, identifier: own } }], ours).status;
  expect(judged(server, "off")).toBe("skip");
  expect(judged(server, "enforce")).toBe("fail");
  expect([
    judged(server, "enforce", "a.example"),
    judged(server, "enforce", undefined, "b.example"),
  ]).toEqual(["pass", "pass"]);
  expect([judged(server, "permissive"), judged(publicServer, "permissive", "a.example")]).toEqual([
    "pass",
    "warn",
  ]);
});

test("root with the generated password after 30 days and nobody else fails, Basic beside others warns", () => {
  const fresh = { basicAllowed: true, otherAdmins: 0, passwordGenerated: true, ageDays: 30 };
  const judged = (more: object): string => judgeRoot({ ...fresh, ...more }).status;
  expect(judged({})).toBe("pass");
  expect(judged({ ageDays: 30.1 })).toBe("fail");
  expect(judged({ ageDays: 400, passwordGenerated: false })).toBe("pass");
  expect(judged({ ageDays: 400, otherAdmins: 1 })).toBe("warn");
  expect(judged({ otherAdmins: 1, basicAllowed: false })).toBe("pass");
});

test("what travels in clear warns on this machine and fails where others can listen", () => {
  const judged = (cookies: boolean, listener: boolean, publicHost?: string): string =>
    judgeCleartext({ cookies, listener, publicHost }).status;
  expect(judged(false, false, "pki.example")).toBe("pass");
  for (const host of [undefined, "localhost", "127.0.0.1", "[::1]"]) {
    expect([judged(true, false, host), judged(false, true, host)]).toEqual(["warn", "warn"]);
  }
  const clear = { cookies: false, listener: false, directory: true, publicHost: undefined };
  expect(judgeCleartext(clear).status).toBe("warn");
  expect([judged(true, false, "pki.example"), judged(false, true, "192.0.2.1")]).toEqual([
    "fail",
    "fail",
  ]);
});
