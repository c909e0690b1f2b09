/** Reads the manual: every file of its folder is a chapter, in the order of their numbers. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { once } from "#core/once.ts";
import { type Chapter, readChapter } from "#core/manual/markdown.ts";

/** The chapters, from the binary they are embedded in or from the source tree. */
export const manualChapters = (): readonly Chapter[] => chapters();

const chapters = once(() =>
  readdirSync(folder())
    .filter((file) => file.endsWith(".md"))
    .sort()
    .map((file) => {
      const name = file.replace(/^\d+-/, "").replace(/\.md$/, "");
      return readChapter(name, readFileSync(join(folder(), file), "utf8"));
    }),
);

/** Where the build puts it: inside the binary beside the code, else in the source tree. */
const folder = (): string =>
  join(import.meta.dir, Bun.isStandaloneExecutable ? "manual" : "../manual");
