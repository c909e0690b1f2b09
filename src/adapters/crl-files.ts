/** Stores copies of CRLs as files of the data directory, which the next start removes. */

import { existsSync, rmSync } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import type { CrlFiles } from "#domain/revocation/crl-copies.ts";

/** Opens the folder of one process. Copies of an earlier process are removed. */
export function openCrlFiles(dataDir: string): CrlFiles {
  const folder = join(dataDir, "crl-copies");
  rmSync(folder, { recursive: true, force: true });
  return {
    write: async (name, chunks) => {
      const file = join(folder, name);
      if (existsSync(file)) return;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const partial = await open(`${file}.new`, "w", 0o600);
      try {
        for await (const chunk of chunks) await partial.writeFile(chunk);
      } finally {
        await partial.close();
      }
      await rename(`${file}.new`, file);
    },
    read: (name, offset, chunkBytes) => readChunks(join(folder, name), offset, chunkBytes),
    removeOthers: async (names) => {
      if (!existsSync(folder)) return;
      for (const name of await readdir(folder)) {
        if (!names.has(name)) await rm(join(folder, name), { force: true });
      }
    },
  };
}

async function* readChunks(
  path: string,
  offset: number,
  chunkBytes: number,
): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    for (let position = offset; ; position += chunkBytes) {
      const chunk = new Uint8Array(chunkBytes);
      const { bytesRead } = await file.read(chunk, 0, chunkBytes, position);
      if (bytesRead > 0) yield chunk.subarray(0, bytesRead);
      if (bytesRead < chunkBytes) return;
    }
  } finally {
    await file.close();
  }
}
