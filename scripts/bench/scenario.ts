/** What every scenario is told, and what instances it measures are configured with. */

import type { InstanceOptions } from "#test/support/instances/instance.ts";
import type { AttackName } from "./attack-names.ts";

/** One run of the bench. */
export interface Bench {
  /** Of each load. */
  readonly seconds: number;
  /** Of the mixed load. */
  readonly mixedSeconds: number;
  /** Certificates of the scenarios with many. */
  readonly rows: number;
  /** Attacks of the scenario `attacks`; all if undefined. */
  readonly attacks: readonly AttackName[] | undefined;
  /** Path of the program that is measured. */
  readonly binary: string;
}

/** Where the keys are, and what an instance needs for it. */
export interface KeyHome {
  readonly name: "software" | "softhsm";
  readonly title: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
}

export const softwareKeys: KeyHome = {
  name: "software",
  title: "software keys",
  config: {},
  env: {},
};

/**
 * Options of a measured instance. The request log goes to a file nobody reads: a reader would be
 * part of what is measured.
 */
export const measured = (bench: Bench, keys: KeyHome): InstanceOptions => ({
  binary: bench.binary,
  config: {
    ...keys.config,
    log: { level: "info", format: "json" },
    server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
  },
  env: keys.env,
});
