/** Loads the PKCS#11 addon and, through it, the vendor's module. */

import type * as Pkcs11js from "pkcs11js";

import { LaunchFault } from "#adapters/keys/requests.ts";

/**
 * A loaded module; all calls are synchronous, because the asynchronous ones of pkcs11js sign freed
 * memory.
 */
export type P11 = Pkcs11js.PKCS11;
/** A slot, token session or object, as the module names it. */
export type Handle = Pkcs11js.Handle;
/** A mechanism with its parameter. */
export type Mechanism = Pkcs11js.Mechanism;
/** Attributes wanted or given. */
export type Template = Pkcs11js.Template;
/**
 * Loads the module into this thread. Throws a `configuration` fault when the build has no addon or
 * the module cannot be loaded. Whoever has the result keeps it as long as the thread lives:
 * collecting it unloads the module.
 */
export function loadModule(path: string): P11 {
  const { PKCS11 } = addon();
  const p11 = new PKCS11();
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
