/**
 * Starts the console: one page, whose state is the address and, in memory only, the caller's token.
 */

import { render } from "preact";
import { App } from "./app.tsx";
import { showMarks } from "./drawn-text.ts";
import { applyLook } from "#web/frame/look.tsx";

applyLook();
showMarks();
const mount = document.getElementById("console");
if (mount !== null) render(<App />, mount);
