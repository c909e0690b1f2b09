/**
 * Bundles the web console into files that any HTTP server can hand out: hashed names, compressed
 * once.
 */

import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/**
 * Builds web/index.html below the folder and gives the paths of the files, relative to it.
 * Everything but the page is named by its content, so it may be cached for ever; each file has
 * `.br` and `.gz` beside it.
 */
export async function buildConsole(folder: string): Promise<string[]> {
  const page = join(import.meta.dir, "../../web/index.html");
  rmSync(folder, { recursive: true, force: true });
  if (!existsSync(page)) return [];
  const built = await Bun.build({
    entrypoints: [page],
    target: "browser",
    minify: true,
    // What a page needs alone is loaded when the page is opened.
    splitting: true,
    publicPath: "/console/",
    naming: {
      entry: "[dir]/[name].[ext]",
      chunk: "assets/[name]-[hash].[ext]",
      asset: "assets/[name]-[hash].[ext]",
    },
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
  });
  const paths: string[] = [];
  for (const output of built.outputs) {
    const path = output.path.endsWith(".html") ? basename(output.path) : output.path;
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    const bytes = new Uint8Array(await output.arrayBuffer());
    writeFileSync(file, bytes);
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: strongest(bytes.length) }));
    paths.push(path);
  }
  return paths.sort();
}

const strongest = (length: number): Record<number, number> => ({
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_SIZE_HINT]: length,
});
