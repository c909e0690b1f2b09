/** Secrets of API tokens, wherever they turn up in a text that is kept. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { withoutApiTokens } from "#core/access/token-secret.ts";

test("a text is kept without every secret in it, and any other text as it is", () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9_-]{1,43}$/).map((random) => `pki_pat_${random}`);
  const between = fc.stringMatching(/^[/.:%]{1,4}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(between, secret)), (parts) => {
      const text = parts.flat().join("");
      expect(withoutApiTokens(text)).toBe(parts.map(([other]) => `${other}pki_pat_*`).join(""));
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.includes("pki_pat_"));
      expect(withoutApiTokens(text)).toBe(text);
    }),
  );
});
