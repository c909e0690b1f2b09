/**
 * Run as a process of its own: holds the directory it is given, starts a child, and waits. The
 * child prints its pid itself: between fork and exec it still holds what its parent holds.
 */

import { holdDirectory } from "#adapters/data-directory.ts";

holdDirectory(String(process.argv[2]));
Bun.spawn(["sh", "-c", "echo $$; exec sleep 60"], { stdio: ["ignore", "inherit", "ignore"] });
setInterval(() => {}, 1000);
