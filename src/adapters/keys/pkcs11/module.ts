/** Loads the PKCS#11 addon and, through it, the vendor's module. */

import type * as Pkcs11js from "pkcs11js";

import { LaunchFault } from "../requests.ts";

/** A loaded module; all calls are synchronous, because the asynchronous ones of pkcs11js sign freed memory. */
export type P11 = Pkcs11js.PKCS11;
export type { Handle, Mechanism, Template } from "pkcs11js";

/**
 * Loads the module into this thread. Throws a `configuration` fault when the build has no addon or the module
 * cannot be loaded. The result is kept for the life of the thread: collecting it would unload the module.
 */
export function loadModule(path: string): P11 {
  const { PKCS11 } = addon();
  const p11 = new PKCS11();
  loaded.push(p11);
  try {
    p11.load(path);
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message : String(fault);
    throw new LaunchFault("configuration", "The PKCS#11 module cannot be loaded.", reason);
  }
  return p11;
}

/** The addon is native code, so it is loaded only where a token is configured. */
function addon(): typeof Pkcs11js {
  try {
    // A literal: the bundler embeds the addon only when it can read its name here.
    return require("pkcs11js");
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message : String(fault);
    throw new LaunchFault("configuration", "This build has no PKCS#11 support.", reason);
  }
}

const loaded: P11[] = [];
