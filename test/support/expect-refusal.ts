/** Expecting that something is refused, exactly. */

import { expect } from "bun:test";

import { Problem } from "#core/problems.ts";

/** Expects that the unit is refused with this code, and with these facts among its own. */
export async function expectRefusal(
  unit: Promise<unknown>,
  code: string,
  facts: object,
): Promise<void> {
  const error = await unit.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code, facts });
}
