/** Secrets in an answer that is tried out: found where they are, and left in no text. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { veiled } from "#web/pages/documentation/secrets.ts";

const answer = (members: object): string => JSON.stringify(members, null, 2);

test("the secret of a token and the key of a credential are hidden in the text", () => {
  const { text, secrets } = veiled(answer({ id: "1", secret: 'pki_"pat', hmac_key: "c2VjcmV0" }));
  expect(secrets.map(({ member }) => member)).toEqual(["secret", "hmac_key"]);
  expect(text).not.toContain("pat");
  expect(text).not.toContain("c2VjcmV0");
  expect(JSON.parse(text)).toMatchObject({ id: "1" });
});

test("an answer without one, and one that is no JSON, have nothing to hide", () => {
  for (const text of [answer({ id: "1" }), answer({ secret: "" }), "null", "[]", "secret: x"]) {
    expect(veiled(text)).toEqual({ text, secrets: [] });
  }
});

test("of an answer that was cut, what follows the name of a secret is hidden, wherever it was cut", () => {
  for (const space of [0, 2]) {
    const whole = JSON.stringify(
      { id: "1", secret: 'xx\\x"xx', list: [{ hmac_key: "zz" }] },
      null,
      space,
    );
    fc.assert(
      fc.property(fc.nat(whole.length - 1), (end) => {
        const cut = whole.slice(0, end);
        for (const text of [cut, `${cut}…`]) expect(veiled(text).text).not.toMatch(/[xz]/);
      }),
    );
  }
});

test("of an answer that was cut, all else is shown as it came", () => {
  const cut = '{"id":"1","secret":"xx\\"x","name":"a \\"secret\\"","hmac_key":null,"list":[1,2,';
  expect(veiled(cut).text).toBe(cut.replace('xx\\"x', "•".repeat(12)));
});
