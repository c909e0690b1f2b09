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
  type ValueOf,
  words,
} from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { noTarget, thePlatform } from "#domain/access/targets.ts";
import type { ClockPause } from "#domain/clock-watch.ts";
import type { JobLook } from "#domain/preflight/part.ts";
import type { Store } from "#domain/store.ts";
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
  readonly store: Pick<Store, "read">;
  /** The host of its public address; undefined where it has none. */
  readonly name: () => string | undefined;
  readonly settings: () => Promise<readonly Setting[]>;
  /** Undefined until the instance serves. */
  readonly jobs: () => readonly JobLook[] | undefined;
  readonly clockPause: () => ClockPause;
}

/** The machine's own name is none of everybody's business, whatever tenant they are of. */
const instanceShape = shape({ id: words(), name: optional(words()) });

/** Handlers for `instance.show`, `config.show` and `job.list`. */
export function instanceHandlers(deps: InstanceHandlerDeps) {
  const { store, name, settings, jobs, clockPause } = deps;
  return {
    "instance.show": operation({
      summary: "Which instance answers: the id all its replicas share, and what it is called.",
      target: noTarget,
      output: instanceShape,
      run: async () =>
        present<ValueOf<typeof instanceShape>>({
          id: (await store.read.instance.value("instance_id")) ?? "",
          name: name(),
        }),
    }),
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
      summary:
        "What runs by itself in this process, when it last did, and what a step of the clock pauses.",
      target: thePlatform,
      output: shape({ jobs: many(jobShape), clock: clockShape }),
      run: async () => ({ jobs: (jobs() ?? []).map(jobJson), clock: clockJson(clockPause()) }),
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

/** Nothing is paused where no member is there (PRC-4). */
const clockShape = shape({
  /** Issuance waits until then: the time of the last event before a step back. */
  behind_until: optional(time),
  /** Mass actions wait for a confirmation of the time: where a step ahead began and ended. */
  ahead_from: optional(time),
  ahead_to: optional(time),
});

const clockJson = ({ behindUntil, ahead }: ClockPause) =>
  present({
    behind_until: timeText(behindUntil),
    ahead_from: timeText(ahead?.from),
    ahead_to: timeText(ahead?.to),
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
