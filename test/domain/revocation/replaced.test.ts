/** The certificate of an externally signed CA is replaced: OCSP goes by the one there is. */

import { afterAll, expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { defaultTenant } from "#core/ids.ts";
import { externalRoot } from "#test/support/worlds/external-root.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";

const elsewhere = externalRoot();
afterAll(() => elsewhere[Symbol.dispose]());

test.each([true, false])(
  "no answer outlives the certificate that has taken the place of a longer one (delegated: %p)",
  async (delegated) => {
    const world = revokingWorld({ delegated });
    world.clock.at = elsewhere.soon;
    const pending = await world.external.request(rootOrigin, defaultTenant, {
      label: "below",
      subject: [{ type: "CN", value: "Below" }],
      keyType: "ecdsa-p256",
      maxPathLength: undefined,
    });
    const csrPem = encodePem("CERTIFICATE REQUEST", pending.csr ?? new Uint8Array());
    const chainPem = elsewhere.upperPem + elsewhere.rootPem;
    const certified = (days: number, replace: boolean) =>
      world.external.certify(rootOrigin, replace ? first : pending, {
        certificatePem: elsewhere.certify({ csrPem, days }),
        chainPem,
        replace,
      });
    let first = pending;
    first = (await certified(1000, false)).ca;
    const serial = first.serial ?? pending.serial;
    if (serial === undefined) throw new Error("an imported CA has a serial");
    await world.askOcsp(first, serial);
    const { ca } = await certified(1, true);
    const later = await world.askOcsp(ca, serial);
    for (const { nextUpdate } of later.answers) {
      expect(Number(nextUpdate)).toBeLessThanOrEqual(Number(ca.notAfter));
    }
    world.clock.at = ca.notAfter ?? world.clock.at;
    world.clock.advance(1);
    await expect(world.askOcsp(ca, serial)).rejects.toThrow("no answer");
  },
);
