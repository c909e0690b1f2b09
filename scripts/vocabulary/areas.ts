/** Maps the path of a file to the area that its hits are counted in. */

/** Returns the area: a folder of `src` or `test`, `web`, `scripts`, or `docs` for Markdown. */
export function findArea(path: string): string {
  if (path.endsWith(".md")) return "docs";
  const [top = "", folder = "", inner] = path.split("/");
  const hasFolders = top === "src" || top === "test";
  return hasFolders && inner !== undefined ? `${top}/${folder}` : top;
}
