/** The order of bundles holds after every history of rollovers (ROL-4). */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { decodePemBlocks } from "#core/asn1/pem.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { signedBy } from "#core/x509/signed-by.ts";
import { chainBundle } from "#domain/authorities/bundle.ts";
import { caRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { certificateOf, rolloverWorld, sameAgain } from "#test/support/worlds/rollover.ts";

const step = fc.constantFrom("rotate lower", "rotate upper", "retire lower" as const);

test("active first, superseded siblings by their end, ancestors, no retired one, and every path complete", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (history) => {
      const world = await rolloverWorld();
      const make = (parent: typeof world.root, label: string) =>
        world.authorities.issueIntermediate(rootOrigin, parent, caRequest({ label }));
      const upper = await make(world.root, "upper");
      const lower = await make(upper, "lower");
      for (const what of history) {
        world.clock.advance(3600);
        const ca = what.endsWith("upper") ? upper : lower;
        if (what.startsWith("rotate")) await world.authorities.rotate(rootOrigin, ca, sameAgain);
        else {
          const request = { reason: "superseded" as const, force: true };
          await world.retirement.retire(rootOrigin, lower, request).catch(() => {});
        }
      }
      const members = await world.store.read.cas.lineage(lower.id);
      const active = members.filter(({ status }) => status === "active");
      const superseded = members
        .filter(({ status }) => status === "superseded")
        .sort((a, b) => (b.notAfter ?? 0) - (a.notAfter ?? 0));
      const pem = await chainBundle(world.store.read.cas, lower);
      const blocks = decodePemBlocks(pem, "CERTIFICATE", 50) ?? [];
      const head = [...active, ...superseded];
      expect(blocks.slice(0, head.length)).toEqual(head.map(certificateOf));
      expect(blocks.at(-1)).toEqual(certificateOf(world.root));
      expect(new Set(blocks.map((der) => der.toHex())).size).toBe(blocks.length);
      const parsed = blocks.map(parseCertificate);
      for (const [index, one] of parsed.entries()) {
        const later = parsed.slice(index === parsed.length - 1 ? index : index + 1);
        expect(later.some(({ spki }) => signedBy(one, spki))).toBe(true);
      }
    }),
    { numRuns: 25 },
  );
});
