/** What this build is; the names are replaced by the bundler and absent when run from source. */

import type { Build } from "#api/health.ts";

declare const BUILD_VERSION: string | undefined;
declare const BUILD_COMMIT: string | undefined;

/** Version, commit and runtime, as `/healthz` and `pkid --version` say them. */
export const build: Build = {
  version: typeof BUILD_VERSION === "string" ? BUILD_VERSION : "0.0.0-source",
  ...(typeof BUILD_COMMIT === "string" && BUILD_COMMIT !== "" ? { commit: BUILD_COMMIT } : {}),
  runtime: `bun ${Bun.version}`,
};
