/** Takes support bundles apart, with GNU tar. */

import { expect } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ran } from "./child.ts";

/** The members of an archive by name. */
export async function unpacked(archive: string): Promise<ReadonlyMap<string, string>> {
  const place = mkdtempSync(join(tmpdir(), "pkid-unpacked-"));
  try {
    const line = ["tar", "--warning=no-timestamp", "-xzf", archive];
    const { code, stderr } = await ran(line, { cwd: place });
    expect([code, stderr]).toEqual([0, ""]);
    const folder = join(place, "pkid-support");
    return new Map(
      readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
    );
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** A member that is a document. */
export const document = (members: ReadonlyMap<string, string>, name: string) =>
  JSON.parse(members.get(name) ?? "null");
