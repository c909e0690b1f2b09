/**
 * Signature Version 4 against the vectors its authors publish, and what a change of any part does
 * to a signature.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { type AwsRequest, signedHeaders } from "#core/aws/signature.ts";
import { instant } from "#core/time.ts";

const credentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
const at = instant(Date.parse("2015-08-30T12:36:00Z"));
const get = { method: "GET", url: "https://example.amazonaws.com/", headers: {}, body: "" };
const form = {
  method: "POST",
  url: "https://example.amazonaws.com/",
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: "Param1=value1",
};
const signatureOf = (request: AwsRequest, service = "service") =>
  /Signature=([0-9a-f]{64})$/.exec(
    signedHeaders(request, credentials, { service, region: "us-east-1", at }).authorization ?? "",
  )?.[1];

// Columns: name of the vector, request, service, signature.
// biome-ignore format: the table is read by column.
const vectors = [
  ["get-vanilla",                         get,                                                                          "service", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
  ["post-vanilla",                        { ...get, method: "POST" },                                                   "service", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
  ["get-vanilla-query-order-key-case",    { ...get, url: "https://example.amazonaws.com/?Param2=value2&Param1=value1" }, "service", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"],
  ["post-x-www-form-urlencoded",          form,                                                                         "service", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"],
  ["the ListUsers of the documentation",  { ...get, url: "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" } }, "iam", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"],
] as const;

test.each(vectors)(
  "the published vector %s is signed as published",
  (_, request, service, wanted) => {
    expect(signatureOf(request, service)).toBe(wanted);
  },
);

test("a session token is sent and signed", () => {
  const headers = signedHeaders(
    get,
    { ...credentials, sessionToken: "token" },
    { service: "service", region: "us-east-1", at },
  );
  expect(headers["x-amz-security-token"]).toBe("token");
  expect(headers.authorization).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token,");
  expect(headers.authorization).not.toContain(signatureOf(get) ?? "");
});

test("another body, another header or another second is another signature", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (text) => {
      const changed = { ...form, body: form.body + text };
      expect(signatureOf(changed)).not.toBe(signatureOf(form));
      expect(signatureOf(changed)).toBe(signatureOf({ ...changed }));
    }),
  );
  expect(signatureOf({ ...form, headers: {} })).not.toBe(signatureOf(form));
  const scope = { service: "service", region: "us-east-1", at: instant(at + 1000) };
  expect(signedHeaders(form, credentials, scope).authorization).not.toContain(
    signatureOf(form) ?? "",
  );
});

test("the secret key is in no header", () => {
  const headers = signedHeaders(form, credentials, { service: "s", region: "r", at });
  expect(JSON.stringify(headers)).not.toContain(credentials.secretAccessKey);
});
