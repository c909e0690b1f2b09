/** How much memory the system lets a process use: the least that any control group says. */

import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { memoryMax } from "#adapters/preflight/host.ts";

function system(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "pkid-cgroup-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const gigabyte = 1024 ** 3;
const machine = { bytesMax: 8 * gigabyte, saidBy: "what the machine has" };

test("it is that of the machine where no group says less, or none says anything", () => {
  const roots = [
    {},
    { "proc/self/cgroup": "" },
    { "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n" },
    { "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "9223372036854771712\n" },
    { "proc/self/cgroup": "nonsense\n:::\n0:", "sys/fs/cgroup/memory.max": "1" },
  ];
  for (const files of roots) expect(memoryMax(system(files), machine.bytesMax)).toEqual(machine);
});

test("a group is bound by every group above it", () => {
  const lines = "12:cpu:/x\n0::/system.slice/pkid.service\n";
  const groups = (own: string, above: string) =>
    system({
      "proc/self/cgroup": lines,
      "sys/fs/cgroup/system.slice/pkid.service/memory.max": own,
      "sys/fs/cgroup/system.slice/memory.max": above,
    });
  expect(memoryMax(groups("268435456\n", "max\n"), machine.bytesMax)).toEqual({
    bytesMax: 268_435_456,
    saidBy: "/sys/fs/cgroup/system.slice/pkid.service/memory.max",
  });
  expect(memoryMax(groups("max\n", "1073741824\n"), machine.bytesMax)).toEqual({
    bytesMax: gigabyte,
    saidBy: "/sys/fs/cgroup/system.slice/memory.max",
  });
});

test("version 1 has them where its memory controller is", () => {
  const files = {
    "proc/self/cgroup": "4:memory,cpu:/docker/1\n0::/\n",
    "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "104857600\n",
  };
  expect(memoryMax(system(files), machine.bytesMax)).toEqual({
    bytesMax: 104_857_600,
    saidBy: "/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes",
  });
});
