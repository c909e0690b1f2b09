/** Secrets in an answer that is tried out: found where they are, and left in no text. */

import { expect, test } from "bun:test";

import { hidden, secretsIn } from "#web/pages/documentation/secrets.ts";

const answer = (members: object): string => JSON.stringify(members, null, 2);

test("the secret of a token and the key of a credential are hidden in the text", () => {
  const text = answer({ id: "1", secret: 'pki_"pat', hmac_key: "c2VjcmV0" });
  const found = secretsIn(text);
  expect(found.map(({ member }) => member)).toEqual(["secret", "hmac_key"]);
  const drawn = hidden(text, found);
  expect(drawn).not.toContain("pat");
  expect(drawn).not.toContain("c2VjcmV0");
  expect(JSON.parse(drawn)).toMatchObject({ id: "1" });
});

test("an answer without one, and one that is no JSON, have nothing to hide", () => {
  for (const text of [answer({ id: "1" }), answer({ secret: "" }), "null", "[]", '{"secret":"x']) {
    expect(secretsIn(text)).toEqual([]);
  }
});
