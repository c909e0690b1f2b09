/** What is written from its end is what the other writer gives, whatever the lengths. */
import { expect, test } from "bun:test";
import fc from "fast-check";

import { element, octetString, sequence } from "#core/asn1/der.ts";
import { DerWriter, headerOctetsMax } from "#core/asn1/der-writer.ts";
import { tags } from "#core/asn1/tags.ts";

test("elements within elements, with lengths of every form", () => {
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.constantFrom(127, 128, 255, 256, 65_535, 65_536).map((length) => new Uint8Array(length)),
  );
  fc.assert(
    fc.property(fc.array(content, { maxLength: 4 }), fc.nat(0x7f), (contents, tag) => {
      const expected = element(tag, sequence(...contents.map(octetString)));
      let room = 2 * headerOctetsMax;
      for (const one of contents) room += one.length + headerOctetsMax;
      const out = new DerWriter(room);
      for (const one of contents.toReversed()) {
        const end = out.mark;
        out.write(one);
        out.wrap(tags.octetString, end);
      }
      out.wrap(tags.sequence, 0);
      out.wrap(tag, 0);
      expect(Buffer.compare(out.finish(), expected)).toBe(0);
    }),
  );
});

test("more than there is room for is a bug, and not a shorter message", () => {
  const out = new DerWriter(3);
  out.write(new Uint8Array(2));
  expect(() => out.wrap(tags.sequence, 0)).toThrow("has room");
  expect(() => new DerWriter(1).write(new Uint8Array(2))).toThrow("has room");
});
