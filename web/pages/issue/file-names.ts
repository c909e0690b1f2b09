/** Names of files after the certificate they hold, such that every system takes them. */

/** Of letters, digits, dots and hyphens; a star is spelled out. */
export function fileStem(name: string): string {
  const plain = name
    .replace(/^\*/, "star")
    .replace(/[^A-Za-z0-9.-]+/g, "_")
    .replace(/^[._]+|[._]+$/g, "")
    .slice(0, 80);
  return plain === "" ? "certificate" : plain;
}
