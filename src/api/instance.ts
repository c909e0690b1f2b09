/** How this instance is set up and what runs by itself in it, for those who run it. */

import {
  anything,
  decimal,
  flag,
  type Json,
  many,
  optional,
  otherwise,
  shape,
  words,
} from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { JobLook } from "#domain/preflight/part.ts";
import type { OperationName } from "#operations";
import { present, time, timeText } from "./shapes.ts";

/** One key of the configuration as it is in force; what is secret is never in it. */
export interface Setting {
  readonly path: string;
  readonly value: Json;
  /** `default`, a file with its line, a variable, a flag. */
  readonly origin: string;
  /** True where what is written now would come into force by a reload or a restart only. */
  readonly waits: boolean;
}

export interface InstanceHandlerDeps {
  readonly settings: () => Promise<readonly Setting[]>;
  /** Undefined until the instance serves. */
  readonly jobs: () => readonly JobLook[] | undefined;
}

/** Handlers for `config.show` and `job.list`. */
export function instanceHandlers({ settings, jobs }: InstanceHandlerDeps) {
  return {
    "config.show": operation({
      summary: "The configuration in force without its secrets, and where each value comes from.",
      target: thePlatform,
      input: { defaults: otherwise(flag(), false) },
      output: shape({ settings: many(settingShape) }),
      run: async ({ input: { defaults } }) => ({
        settings: (await settings()).filter(({ origin }) => defaults || origin !== "default"),
      }),
    }),
    "job.list": operation({
      summary: "What runs by itself in this process, and when it last did.",
      target: thePlatform,
      output: shape({ jobs: many(jobShape) }),
      run: async () => ({ jobs: (jobs() ?? []).map(jobJson) }),
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const settingShape = shape({
  path: words(),
  value: anything({ description: "As the configuration file has it; secrets are `***`." }),
  origin: words(),
  waits: flag(),
});

const jobShape = shape({
  name: words(),
  every_seconds: decimal(),
  last_success_at: optional(time),
  last_failure_at: optional(time),
  last_failure: optional(words()),
  late: flag(),
});

const jobJson = (job: JobLook) =>
  present({
    name: job.name,
    every_seconds: job.everySeconds,
    last_success_at: timeText(job.succeededAt),
    last_failure_at: timeText(job.failedAt),
    last_failure: job.failure,
    late: job.late,
  });
