/** Looks for objects on a token. */

import type { Handle, P11, Template } from "./module.ts";

/** At most `most` objects that fit the template. */
export function findObjects(
  p11: P11,
  tokenSession: Handle,
  template: Template,
  most: number,
): Handle[] {
  p11.C_FindObjectsInit(tokenSession, template);
  try {
    return p11.C_FindObjects(tokenSession, most);
  } finally {
    p11.C_FindObjectsFinal(tokenSession);
  }
}
