/** What follows from a section that a reload may replace. */

import { expect, test } from "bun:test";

import { madeFrom } from "#core/in-force.ts";

test("what a section makes is made once, and again when another one is in force", () => {
  let inForce = { roles: ["issuer"] };
  let made = 0;
  const roles = madeFrom(
    () => inForce,
    (section) => {
      made += 1;
      return section.roles.join();
    },
  );
  expect([roles(), roles(), made]).toEqual(["issuer", "issuer", 1]);
  inForce = { roles: ["auditor"] };
  expect([roles(), roles(), made]).toEqual(["auditor", "auditor", 2]);
});

test("a section that cannot be made into anything keeps nobody from asking again", () => {
  let inForce = { valid: false };
  const read = madeFrom(
    () => inForce,
    ({ valid }) => {
      if (!valid) throw new Error("not valid");
      return "read";
    },
  );
  expect(read).toThrow("not valid");
  expect(read).toThrow("not valid");
  inForce = { valid: true };
  expect(read()).toBe("read");
});
