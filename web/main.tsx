/**
 * Starts the console: one page, whose state is the address and, in memory only, the caller's token.
 */

import { render } from "preact";
import { parseAddress } from "./address.ts";
import { App } from "./app.tsx";
import { applyLook } from "#web/frame/look.tsx";
import { pageOf } from "./routes.tsx";

applyLook();
// The file of the page comes while the server is asked who this is; the frame says if it does not.
pageOf(parseAddress(location.pathname, location.search))
  ?.load()
  .catch(() => undefined);
const mount = document.getElementById("console");
if (mount !== null) render(<App />, mount);
