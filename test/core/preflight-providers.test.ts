/** What preflight says of identity providers and directories. */

import { expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import {
  judgeClientCas,
  judgeDirectory,
  judgeProviders,
  type ProviderFacts,
} from "#core/preflight/providers.ts";

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
      aheadSeconds,
      wanted,
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

test("client CAs fail one by one when they have expired or not begun, and warn before they expire", () => {
  const now = instant(Date.parse("2026-06-01T00:00:00Z"));
  const day = (days: number) => instant(now + days * 86_400_000);
  const ca = (from: number, until: number) => {
    const root = OutsideCa.root("Outside", { notBefore: day(from), notAfter: day(until) });
    return parseCertificate(root.der);
  };
  const judged = (...cas: ReturnType<typeof ca>[]) =>
    judgeClientCas("/ca.pem", cas, { now, warnDays: 30 });
  expect(judged(ca(-1, 30)).status).toBe("pass");
  expect(judged(ca(-1, 29)).status).toBe("warn");
  expect(judged(ca(-1, 0)).status).toBe("warn");
  expect(judged(ca(-9, -1)).status).toBe("fail");
  expect(judged(ca(1, 99)).status).toBe("fail");
  const { status, detail } = judged(ca(-9, -1), ca(-1, 9), ca(-1, 99));
  expect([status, detail]).toEqual([
    "fail",
    "/ca.pem: CN=Outside expired 2026-05-31T00:00:00.000000Z. /ca.pem: CN=Outside expires 2026-06-10T00:00:00.000000Z.",
  ]);
});

test("a provider that would send people back fails, and one that does not list a scope is worth a warning", () => {
  const good = { issuer, keys: 1, aheadSeconds: 0 };
  const refused = judgeProviders([{ ...good, refusal: "invalid_scope (Invalid scopes: groups)" }]);
  expect(refused).toMatchObject({
    status: "fail",
    detail: `${issuer} lets nobody log in: invalid_scope (Invalid scopes: groups).`,
  });
  expect(status({ ...good, refusal: undefined, unlisted: ["roles"] })).toBe("warn");
  expect(status({ ...good, refusal: undefined, unlisted: [] })).toBe("pass");
});
