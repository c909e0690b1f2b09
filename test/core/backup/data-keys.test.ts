/** `keys/deks.json` of an archive: read as it was written, and nothing else. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { ArchiveUnfit } from "#core/backup/archive.ts";
import { encodeDataKeys, parseDataKeys } from "#core/backup/data-keys.ts";

const dek = fc.uint8Array({ minLength: 32, maxLength: 32 });
const id = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((octets) => octets.toHex());
const values = fc.dictionary(fc.string({ minLength: 1, maxLength: 60 }), dek);
const privateKeys = fc.dictionary(id, dek);

test("data keys are read as they were written", () => {
  fc.assert(
    fc.property(values, fc.option(privateKeys, { nil: undefined }), (of, keys) => {
      const written = {
        values: new Map(Object.entries(of)),
        privateKeys: keys && new Map(Object.entries(keys)),
      };
      expect(parseDataKeys(encodeDataKeys(written))).toEqual(written);
    }),
  );
});

test("an archive of a release before private keys had data keys in it says that it has none", () => {
  const read = parseDataKeys(Buffer.from('{"values":[]}'));
  expect(read).toEqual({ values: new Map(), privateKeys: undefined });
});

test("whatever else it holds is refused as the archive's fault", () => {
  const short = Buffer.alloc(31).toString("base64");
  const whole = Buffer.alloc(32).toString("base64");
  const row = `{"place":"instance/value/x","dek":"${whole}"}`;
  const wrong = [
    "",
    "[]",
    "null",
    "{}",
    `{"values":[{"place":"x","dek":"${short}"}]}`,
    `{"values":[{"place":"x","dek":"${whole} "}]}`,
    `{"values":[${row},${row}]}`,
    `{"values":[],"private_keys":[{"id":"AA","dek":"${whole}"}]}`,
    '{"values":[],"more":1}',
  ];
  for (const text of wrong) expect(() => parseDataKeys(Buffer.from(text))).toThrow(ArchiveUnfit);
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (octets) => {
        expect(() => parseDataKeys(octets)).toThrow(ArchiveUnfit);
      },
    ),
  );
});
