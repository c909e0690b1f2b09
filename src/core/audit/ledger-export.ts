/** What the ledger key signs when the sign ledger is handed out (LED-3). */

/**
 * The members of a document that its signature covers; the digest of the operations in a combined
 * one only.
 */
export interface ExportedRange {
  readonly ledgerId: string;
  readonly provider: string;
  readonly deviceSerial: string;
  readonly firstNumber: number;
  readonly lastNumber: number;
  /** 64 hex. */
  readonly firstPrevHash: string;
  readonly lastHash: string;
  /** Timestamp as it stands in the document. */
  readonly exportedAt: string;
  /** Lower hex SHA-256 of the text of `sign_operations`. */
  readonly operationsSha256?: string;
}

export const exportFormat = "pkid-ledger-1";

/**
 * The octets that are signed: a name and a zero octet, then each text behind its length in 32 bits.
 */
export function exportMessage(range: ExportedRange): Uint8Array {
  const texts = [
    exportFormat,
    range.ledgerId,
    range.provider,
    range.deviceSerial,
    String(range.firstNumber),
    String(range.lastNumber),
    range.firstPrevHash,
    range.lastHash,
    range.exportedAt,
  ];
  if (range.operationsSha256 !== undefined) texts.push(range.operationsSha256);
  return framedTexts("pkid/ledger-export/1", texts);
}

/**
 * The UTF-8 of `name`, a zero octet, and each text behind its length as unsigned 32-bit big-endian.
 */
export function framedTexts(name: string, texts: readonly string[]): Uint8Array {
  const framed = texts.flatMap((text) => {
    const octets = Buffer.from(text, "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(octets.length);
    return [length, octets];
  });
  const start = Buffer.from(`${name}\0`, "utf8");
  return new Uint8Array(Buffer.concat([start].concat(framed)));
}
