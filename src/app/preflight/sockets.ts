/** The checks of the process and its sockets, and of the files with weak keys. */

import { statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  answersOn,
  executable,
  fileFacts,
  openFilesMax,
  writable,
} from "#adapters/preflight/host.ts";
import { BlocklistUnreadable, readBlocklists } from "#adapters/weak-keys.ts";
import { judgeSocket } from "#core/preflight/files.ts";
import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import { judgeProcess } from "#core/preflight/host.ts";
import type { Checks } from "#domain/preflight/run.ts";
import { configOf, type Premises } from "./premises.ts";

/** Their functions over these premises. */
export function socketChecks(
  premises: Premises,
): Pick<Checks, "listener.sockets" | "process.limits" | "keychecks.blocklist"> {
  return {
    "listener.sockets": async () => {
      const { admin_socket, unix_socket } = configOf(premises).server;
      const sockets = admin_socket.enabled ? [{ path: admin_socket.path, mode: 0o600 }] : [];
      const { path: main, mode } = unix_socket;
      if (main !== undefined) sockets.push({ path: main, mode: Number.parseInt(mode, 8) });
      if (sockets.length === 0) return skipped("There is no admin socket, and no other.");
      const findings: Finding[] = [];
      const user = process.getuid?.() ?? 0;
      for (const { path, mode: bits } of sockets) {
        findings.push(judgeSocket(fileFacts(path), await answersOn(path), user, bits));
      }
      return gathered(findings, findings.map(({ detail }) => detail).join(" "));
    },
    "process.limits": () => {
      const { data_dir, key_provider } = configOf(premises);
      const tokens = key_provider.type === "pkcs11";
      const there = [data_dir, tmpdir()].filter((path) => fileFacts(path).kind !== "absent");
      // The addon is unpacked beside the keys, or where BUN_TMPDIR says.
      const unpacked = [process.env.BUN_TMPDIR ?? join(data_dir, "private")];
      return judgeProcess(
        {
          openFilesMax: openFilesMax(),
          unwritable: there.filter((path) => !writable(path)),
          unexecutable: unpacked.filter((path) => !executable(path)),
        },
        tokens,
      );
    },
    "keychecks.blocklist": () => blocklists(premises),
  };
}

/** Of a configuration that names files which are not there, the faults tell the same. */
async function blocklists({ read, config, store }: Premises): Promise<Finding> {
  const key = "keychecks.weak_key_blocklist_paths";
  const faults = read.loaded.ok ? [] : read.loaded.faults;
  const wrong = faults.filter(({ path }) => path.startsWith(key));
  if (wrong.length > 0) return failed(wrong.map(({ sentence }) => sentence).join(" "));
  const paths = config?.keychecks.weak_key_blocklist_paths ?? [];
  const blocked =
    "open" in store ? await store.open.read.keyChecks.page("platform", {}, 1) : undefined;
  const keys = blocked === undefined ? "" : ` Blocked keys: ${blocked.total}.`;
  try {
    const listed = readBlocklists(paths).size;
    const old = paths.filter((path) => Date.now() - statSync(path).mtimeMs > yearMs);
    const findings = old.map((path) => warned(`${path} is older than a year.`));
    const loaded =
      paths.length === 0
        ? "No list of weak keys is loaded."
        : `${paths.length} files list ${listed} weak keys.`;
    return gathered(findings, `${loaded}${keys}`);
  } catch (error) {
    if (error instanceof BlocklistUnreadable) return failed(error.message);
    throw error;
  }
}

const yearMs = 365 * 86_400_000;
