/** The first digits of a serial as callers spell them: decimal, or `0x` and hex digits. */

import { type Field, parsed, WrongValue } from "#core/shape.ts";

/** In lower case; leading zeros say nothing in a serial and so nothing here (REC-2). */
export function serialPrefix(): Field<string> {
  return parsed({ type: "string", pattern: pattern.source, maxLength: lengthMax }, (given) => {
    if (given.length > lengthMax || !pattern.test(given)) {
      throw new WrongValue("must be digits, or 0x and hex digits");
    }
    return given.toLowerCase().replace(/^(0x)?0+(?=[0-9a-f])/, "$1");
  });
}

const pattern = /^(\d+|0[xX][0-9a-fA-F]+)$/;
const lengthMax = 50;
