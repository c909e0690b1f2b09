/**
 * Validation through the pipeline: own certificates, revocation from the store, strangers and
 * rubbish.
 */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";

import { validationHandlers } from "#api/validation.ts";
import { encodePem } from "#core/asn1/pem.ts";
import type { Principal } from "#core/access/principal.ts";
import type { TenantId } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { certificatePem } from "#domain/authorities/bundle.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Issued } from "#domain/certificates/issue.ts";
import {
  caRequest,
  initRoot,
  issuanceWorld,
  leafRequest,
  rootOrigin,
  type World,
} from "#test/support/worlds/issuance.ts";
import { personNamed } from "#test/support/worlds/people.ts";

let world: World;
let issuing: CaRecord;
let issued: Issued;
let ask: (body: object, principal?: Principal) => Promise<Json>;
beforeEach(async () => {
  world = issuanceWorld({ urlBase: "https://pki.example" });
  const root = await initRoot(world);
  issuing = await world.authorities.issueIntermediate(
    rootOrigin,
    root,
    caRequest({ label: "issuing" }),
  );
  issued = await world.issuance.issue(rootOrigin, issuing, leafRequest());
  const perform = openPipeline({ ...world });
  const handlers = validationHandlers(world);
  ask = async (body, principal = rootOrigin.principal) => {
    const operation = "cert.validate" as const;
    const call = { operation, origin: { ...rootOrigin, principal }, path: {} };
    const query = new URLSearchParams();
    const answer = await askJson(
      perform,
      { ...call, query, body: async () => body },
      handlers[operation],
    );
    return JSON.parse(JSON.stringify(answer.body));
  };
});
// biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, as a client reads them.
type Json = any;

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return error.code;
    },
  );
const leaf = () => certificatePem(issued.certificate);

test("an own certificate is valid, with its whole chain", async () => {
  const report = await ask({ ca: "issuing", certificate: leaf() });
  expect(report).toMatchObject({
    ca_id: issuing.id,
    ca_label: "issuing",
    trust_anchor: "CN=Test root",
    valid: true,
    chain_built: true,
    decision: "accept",
    reasons: [],
    warnings: [],
  });
  expect(report.chain.map((one: Json) => [one.position, one.is_ca, one.is_trust_anchor])).toEqual([
    [0, false, false],
    [1, true, false],
    [2, true, true],
  ]);
  expect(report.chain[0]).toMatchObject({
    serial: issued.serial,
    revocation: { state: "good", source: "store" },
    expired: false,
    key_algorithm: "ecdsa-p256",
    key_size: 256,
    weak_key: false,
    self_signed: false,
  });
  expect(report.chain[2].self_signed).toBe(true);
  expect(new Set(report.checks.map(({ status }: Json) => status))).toEqual(new Set(["pass"]));
});

test("a revocation is seen at once, and not looked at when that is asked", async () => {
  await world.store.atomically((tx) =>
    tx.revocations.put({
      caId: issuing.id,
      serial: issued.serial,
      revokedAt: world.clock.now(),
      reason: "keyCompromise",
      known: true,
      expiresAt: undefined,
    }),
  );
  const report = await ask({ ca: issuing.id, certificate: leaf() });
  expect(report).toMatchObject({ valid: false, decision: "reject" });
  expect(report.chain[0].revocation).toMatchObject({ state: "revoked", reason: "keyCompromise" });
  const skipped = await ask({ ca: issuing.id, certificate: leaf(), skip_revocation: true });
  expect(skipped.valid).toBe(true);
});

test("a certificate of another root has no path", async () => {
  const stranger = issuanceWorld({ random: world.random });
  const root = await initRoot(stranger);
  const other = await stranger.issuance.issue(rootOrigin, root, leafRequest());
  const certificate = certificatePem(other.certificate);
  const report = await ask({ ca: "issuing", certificate });
  expect(report).toMatchObject({ chain_built: false, valid: false, decision: "reject" });
  expect(report).not.toHaveProperty("valid_from");
});

test("rubbish is refused, and so is a CA that is absent or foreign", async () => {
  expect(await codeOf(ask({ ca: "issuing", certificate: "x" }))).toBe("bad_certificate");
  const empty = encodePem("CERTIFICATE", Uint8Array.of(0x30, 0));
  expect(await codeOf(ask({ ca: "issuing", certificate: empty }))).toBe("bad_certificate");
  expect(await codeOf(ask({ ca: "none", certificate: leaf() }))).toBe("not_found");
  const foreign: Principal = {
    subject: "ada",
    person: personNamed("ada"),
    isRoot: false,
    roles: [],
    groups: [],
    mechanism: "basic",
    tenantRoles: { ["other" as TenantId]: ["auditor"] },
  };
  expect(await codeOf(ask({ ca: "issuing", certificate: leaf() }, foreign))).toBe("not_found");
});
