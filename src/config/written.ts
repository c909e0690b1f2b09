/** The places of this machine that a configuration has pkid write to. */

import { dirname, isAbsolute } from "node:path";

import { isObject } from "#core/shape.ts";

import { type Config, configSchema } from "./schema.ts";
import { Secret } from "./secret.ts";
import { leaves, type WrittenPlace } from "./section.ts";
import { valueAt } from "./show.ts";

/** A directory that is written to, by the key that says so. */
export interface WrittenDirectory {
  readonly key: string;
  readonly path: string;
  /** What pkid makes of it where it is missing; undefined for the directory around a file. */
  readonly made: Exclude<WrittenPlace, "file"> | undefined;
}

/**
 * All of them, in the order of the declaration. What a source names, and what is no absolute path,
 * such as the URL of a database, is not among them.
 */
export function writtenDirectories(config: Config): readonly WrittenDirectory[] {
  return leaves(configSchema).flatMap(({ path: key, field: { writes } }): WrittenDirectory[] => {
    const place = writes === undefined ? undefined : placeOf(valueAt(config, key));
    if (writes === undefined || place === undefined || !isAbsolute(place)) return [];
    if (writes === "file") return [{ key, path: dirname(place), made: undefined }];
    return [{ key, path: place, made: writes }];
  });
}

function placeOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isObject(value) || !(value.value instanceof Secret)) return undefined;
  return value.value.reveal();
}
