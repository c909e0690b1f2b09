/** The files of AWS's tools: headings, settings, and everything that is neither. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { profileIn } from "#core/aws/profiles.ts";

const credentials = `
# for the CA
[default]
aws_access_key_id = AKIADEFAULT
aws_secret_access_key=secret/with=sign ; a comment

[ops]
AWS_ACCESS_KEY_ID = AKIAOPS
s3 =
  region = nested
aws_session_token =
`;

test("a profile of the credentials file has the settings below its heading", () => {
  expect(profileIn(credentials, "default", "credentials")).toEqual({
    aws_access_key_id: "AKIADEFAULT",
    aws_secret_access_key: "secret/with=sign",
  });
  expect(profileIn(credentials, "ops", "credentials")).toEqual({
    aws_access_key_id: "AKIAOPS",
    s3: "",
    aws_session_token: "",
  });
});

test("a profile that no heading names is not there", () => {
  expect(profileIn(credentials, "other", "credentials")).toBeUndefined();
  expect(profileIn("", "default", "credentials")).toBeUndefined();
});

test("the configuration file says profile before all names but default", () => {
  const config =
    "[default]\nregion = eu-central-1\n[profile ops]\nregion = eu-west-1\n[stray]\nregion = x\n";
  expect(profileIn(config, "default", "config")).toEqual({ region: "eu-central-1" });
  expect(profileIn(config, "ops", "config")).toEqual({ region: "eu-west-1" });
  expect(profileIn(config, "stray", "config")).toBeUndefined();
});

test("headings of one name add up, and the later setting counts", () => {
  const twice = "[a]\nx = 1\ny = 1\n[b]\nx = 2\n[a]\nx = 3\n";
  expect(profileIn(twice, "a", "credentials")).toEqual({ x: "3", y: "1" });
});

test("any text gives settings of text or nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
      const profile = profileIn(`[a]\n${text}`, "a", "credentials") ?? {};
      for (const value of Object.values(profile)) expect(typeof value).toBe("string");
    }),
  );
});
