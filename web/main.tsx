/**
 * Starts the console: one page, whose state is the address and, in memory only, the caller's token.
 */

import { render } from "preact";
import { here } from "./address.ts";
import { App } from "./app.tsx";
import { showMarks } from "./drawn-text.ts";
import { lookForSession } from "./login.ts";
import { pageOf } from "./routes.tsx";
import { applyLook } from "#web/frame/look.tsx";

// Both are on their way while the rest is drawn; where the file does not come, the frame says so.
const look = lookForSession();
pageOf(here())
  ?.load()
  .catch(() => undefined);
applyLook();
showMarks();
const mount = document.getElementById("console");
if (mount !== null) render(<App look={look} />, mount);
