/** `pkid verify` of the binary: honest instances pass, on either database and beside a server. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { Instance, runCli } from "#test/support/instances/instance.ts";
import { live, livedConfig, type Lived } from "#test/support/instances/lived.ts";

let instance: Instance;
let lived: Lived;

beforeAll(async () => {
  instance = await Instance.start({ config: livedConfig });
  lived = await live(instance);
}, 120_000);
afterAll(() => instance.dispose());

test("an honest instance is proven while it is served", async () => {
  const { code, stdout, stderr } = await instance.cli("verify");
  console.log(stdout, stderr);
  expect([code, lived.serials.good.length > 10]).toEqual([0, true]);
}, 60_000);
