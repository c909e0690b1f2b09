/** What preflight says of identity providers and directories. */

import { expect, test } from "bun:test";

import { judgeDirectory, judgeProviders, type ProviderFacts } from "#core/preflight/providers.ts";

const issuer = "https://id.test";
const status = (...facts: ProviderFacts[]) => judgeProviders(facts).status;

test("a provider is looked at when there is one, and fails when it cannot vouch for anybody", () => {
  expect(status()).toBe("skip");
  expect(status({ issuer, keys: 1, aheadSeconds: undefined })).toBe("pass");
  expect(status({ issuer, keys: 0, aheadSeconds: 0 })).toBe("fail");
  expect(status({ issuer, fault: "it is away" })).toBe("fail");
  expect(judgeProviders([{ issuer, fault: "it is away" }]).detail).toBe(
    "https://id.test: it is away.",
  );
});

test("a clock more than half a minute from ours is a warning, in either direction", () => {
  for (const [aheadSeconds, wanted] of [
    [30, "pass"],
    [-30, "pass"],
    [31, "warn"],
    [-31, "warn"],
  ] as const) {
    expect([aheadSeconds, status({ issuer, keys: 1, aheadSeconds })]).toEqual([
      ...[aheadSeconds, wanted],
    ]);
  }
});

test("a directory fails by any of its servers, and warns two weeks before a certificate ends", () => {
  const server = "ldap.test:636";
  const judged = (...facts: Parameters<typeof judgeDirectory>[0]) => judgeDirectory(facts).status;
  expect(judged()).toBe("skip");
  expect(judged({ server, certificateDays: 14 })).toBe("pass");
  expect(judged({ server, certificateDays: undefined })).toBe("pass");
  expect(judged({ server, certificateDays: 13.9 })).toBe("warn");
  expect(judged({ server, certificateDays: 90 }, { server, fault: "it is away" })).toBe("fail");
});
