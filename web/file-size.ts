/** Files that are too large are refused as a whole: half of one says something else. */

/** Why a file is not read; undefined for one that is. */
export const sizeFault = (bytes: number, bytesMax: number): string | undefined =>
  bytes <= bytesMax
    ? undefined
    : `The file has ${inEnglish(bytes)} bytes, and ${inEnglish(bytesMax)} at most are taken.`;

const inEnglish = (count: number): string => count.toLocaleString("en");
