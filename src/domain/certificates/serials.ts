/** Serial numbers as pkid draws them (REC-1). */

import { type Serial, serialFromBytes } from "#core/ids.ts";
import type { Random } from "#domain/ports.ts";

/** 16 octets from the CSPRNG, top bit cleared, not zero: 127 random bits, positive in DER without a sign octet. */
export function drawSerial(random: Random): Serial {
  for (;;) {
    const octets = random.bytes(16);
    octets[0] = (octets[0] ?? 0) & 0x7f;
    if (octets.some((octet) => octet !== 0)) return serialFromBytes(octets);
  }
}
