/** ZIP archives of small files, stored as they are: what every system opens by a double click. */

export interface ZipEntry {
  readonly name: string;
  readonly octets: Uint8Array<ArrayBuffer>;
}

/** The archive (PKWARE APPNOTE.TXT 6.3, §4.3), with names in UTF-8. */
export function zip(entries: readonly ZipEntry[]): Blob {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const { name, octets } of entries) {
    const file = new TextEncoder().encode(name);
    const length = octets.length;
    // Version, flags, method, time, day, check sum, sizes, lengths of name and extra field.
    const common = words(20, utf8Names, stored, 0, firstDay).concat(
      doubleWords(crc32(octets), length, length),
      words(file.length, 0),
    );
    const local = joined(doubleWords(0x04034b50), common);
    parts.push(local, file, octets);
    const place = words(0, 0, 0).concat(doubleWords(0, offset));
    directory.push(joined(doubleWords(0x02014b50), words(20), common, place), file);
    offset += local.length + file.length + length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const counts = words(0, 0, entries.length, entries.length);
  const end = joined(doubleWords(0x06054b50), counts, doubleWords(size, offset), words(0));
  return new Blob(parts.concat(directory, [end]), { type: "application/zip" });
}

/** Octets of numbers of 16 bits, the lowest first. */
const words = (...numbers: readonly number[]): number[] =>
  numbers.flatMap((number) => [number & 0xff, (number >>> 8) & 0xff]);

/** Of 32 bits. */
const doubleWords = (...numbers: readonly number[]): number[] =>
  numbers.flatMap((number) => words(number & 0xffff, number >>> 16));

const joined = (...parts: readonly (readonly number[])[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(parts.flat());

/** The check sum of ISO 3309, bit by bit: archives are small. */
function crc32(octets: Uint8Array): number {
  let sum = 0xffffffff;
  for (const octet of octets) {
    sum ^= octet;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return ~sum >>> 0;
}

const utf8Names = 0x0800;
const stored = 0;
/** 1980-01-01, the first a ZIP can say: the same files are the same archive. */
const firstDay = 0x0021;
