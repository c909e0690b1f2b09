/**
 * `pkid cert lint`: sends the file as PEM, prints findings with their clause, and ends with 1 when
 * a rule refuses.
 */

import { expect, test } from "bun:test";

import { shell } from "#test/support/instances/shell.ts";

const finding = {
  code: "eku_any",
  mode: "error",
  clause: "BR 7.1.2.7.10",
  description: "any purpose",
};

test("findings are printed with their clause, and an enforced one ends with 1", async () => {
  const answer = { pass: false, summary: "1 error, 0 warnings", findings: [finding] };
  const { code, stdout } = await shell(["cert", "lint", "-"], {
    answers: () => answer,
    stdin: "x",
  });
  expect(code).toBe(1);
  expect(stdout).toBe(
    "MODE   CODE     CLAUSE         DESCRIPTION\n" +
      "error  eku_any  BR 7.1.2.7.10  any purpose\n1 error, 0 warnings\n",
  );
});

test("flags are asked for as given, and DER is sent as PEM", async () => {
  const line = "cert lint - --public --mode warn --profile web".split(" ");
  const answers = () => ({ pass: true, summary: "0 errors, 1 warning", findings: [] });
  const { code, stdout, asked } = await shell(line, { answers, stdin: "DER" });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "0 errors, 1 warning\n" });
  expect(asked).toMatchObject([
    {
      method: "POST",
      path: "/api/lint",
      body: {
        certificate: "-----BEGIN CERTIFICATE-----\nREVS\n-----END CERTIFICATE-----\n",
        profile: "web",
        mode: "warn",
        public: true,
      },
    },
  ]);
});
