/**
 * What makes requests and key files, in pieces of their own: many times the rest of the page, and
 * asked for when they are first needed.
 */

/** Builds certification requests. */
export async function requestTools() {
  // First and by itself: @peculiar/x509 refuses to be loaded before it.
  await import("./reflection.ts");
  return import("./requests.ts");
}

/** Writes and reads files with keys. */
export const keyFileTools = () => import("./key-files.ts");
