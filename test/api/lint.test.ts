/** Lint of any certificate in JSON: defaults, what a profile changes, and refusals. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { lintHandlers } from "#api/lint.ts";
import { Problem } from "#core/problems.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { certificatePem } from "#domain/authorities/bundle.ts";
import {
  csr,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
} from "#test/support/worlds/issuance.ts";

const world = issuanceWorld();
const root = await initRoot(world);
const request = leafRequest({ csr: csr({ dns: ["a.internal", "b.internal"], subject: [] }) });
const leaf = await world.issuance.issue(rootOrigin, root, request);
const certificate = certificatePem(leaf.certificate);
const server = new ProfileSet().named("server");
const web = {
  ...server,
  name: "web",
  maxValiditySeconds: 90 * 86_400,
  lint: { ...server.lint, public: true, overrides: { internal_name: "warn" as const } },
};

async function lint(body: object) {
  const handlers = lintHandlers({ profiles: () => new ProfileSet([web]) });
  const perform = openPipeline({ ...world });
  const asked = { operation: "cert.lint" as const, origin: rootOrigin, path: {} };
  const query = new URLSearchParams();
  const call = { ...asked, query, body: async () => body };
  const answer = await askJson(perform, call, handlers["cert.lint"]);
  return JSON.parse(JSON.stringify(answer.body));
}

const codes = (report: { findings: { code: string; mode: string }[] }) =>
  report.findings.map(({ code, mode }) => `${code} ${mode}`);

test("what pkid issues passes, with all members of the answer", async () => {
  expect(await lint({ certificate })).toEqual({
    subject: "",
    serial: leaf.serial,
    not_after: "2027-07-03T11:54:59.000000Z",
    mode: "enforce",
    public: false,
    pass: true,
    errors: 0,
    warnings: 0,
    summary: "0 errors, 0 warnings",
    findings: [],
  });
  const pem = certificatePem(root.certificate ?? new Uint8Array());
  expect(await lint({ certificate: pem })).toMatchObject({ pass: true, findings: [] });
});

test("the rules of the public web count when asked for, and in a mode that warns pass", async () => {
  const strict = await lint({ certificate, public: true });
  expect(strict).toMatchObject({ pass: false, public: true });
  expect(codes(strict)).toContain("internal_name error");
  const warned = await lint({ certificate, public: true, mode: "warn" });
  expect(warned).toMatchObject({ pass: true, errors: 0, mode: "warn" });
  expect(warned.warnings).toBe(strict.errors + strict.warnings);
});

test("a profile brings its settings and its longest validity", async () => {
  const report = await lint({ certificate, profile: "web" });
  expect(report.public).toBe(true);
  expect(codes(report)).toContain("internal_name warn");
  expect(codes(report)).toContain("validity_cap error");
  const own = await lint({ certificate, profile: "web", max_validity_days: 397, public: false });
  expect(own).toMatchObject({ pass: true, findings: [] });
});

test("what is no certificate and a profile that is none are refused", async () => {
  const code = (body: object) =>
    lint(body).then(
      () => "accepted",
      (error) => (error instanceof Problem ? error.code : String(error)),
    );
  expect(await code({ certificate: "x" })).toBe("bad_certificate");
  const broken = certificatePem(leaf.certificate.subarray(0, 100));
  expect(await code({ certificate: broken })).toBe("bad_certificate");
  expect(await code({ certificate, profile: "none" })).toBe("unknown_profile");
  expect(await code({ certificate, mode: "off" })).toBe("invalid_field");
});
