/** Serial numbers as pkid draws them (REC-1). */

import { DrawnSerial } from "#core/policy/drawn-serial.ts";
import type { Random } from "#domain/ports.ts";

/**
 * 16 octets from the CSPRNG, top bit cleared, not zero: 127 random bits, positive in DER without a
 * sign octet.
 */
export function drawSerial(random: Random): DrawnSerial {
  for (;;) {
    const drawn = DrawnSerial.from(random.bytes(16));
    if (drawn !== undefined) return drawn;
  }
}
