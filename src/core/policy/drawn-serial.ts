/** A serial with its provenance: drawn by this process, for one certificate (BR 7.1.2.7, REC-1). */

import { type Serial, serialFromBytes } from "#core/ids.ts";

/** Made only from fresh random octets, and good for one pass through the gates. */
export class DrawnSerial {
  readonly value: Serial;
  #spent = false;

  private constructor(value: Serial) {
    this.value = value;
  }

  /**
   * From 16 octets of the CSPRNG, whose top bit is cleared; undefined for zero, which is to be
   * drawn anew.
   */
  static from(octets: Uint8Array): DrawnSerial | undefined {
    const cleared = Uint8Array.from(octets);
    cleared[0] = (cleared[0] ?? 0) & 0x7f;
    if (cleared.length !== 16 || cleared.every((octet) => octet === 0)) return undefined;
    return new DrawnSerial(serialFromBytes(cleared));
  }

  /** True the first time: a serial is for one certificate. */
  spend(): boolean {
    const isFresh = !this.#spent;
    this.#spent = true;
    return isFresh;
  }
}
