/** Looks at the process and its sockets. */

import { tmpdir } from "node:os";
import { join } from "node:path";

import { judgeSocket } from "#core/preflight/files.ts";
import { type Finding, gathered, skipped } from "#core/preflight/finding.ts";
import { judgeProcess } from "#core/preflight/host.ts";
import { answersOn, executable, fileFacts, memoryMax, openFilesMax, writable } from "./host.ts";

/** `server`, as far as sockets go. */
export interface SocketSections {
  readonly admin_socket: { readonly enabled: boolean; readonly path: string };
  readonly unix_socket: { readonly path: string | undefined; readonly mode: string };
}

/** Whether each socket answers, and whom it lets in. */
export async function socketsAnswer(server: SocketSections): Promise<Finding> {
  const { admin_socket, unix_socket } = server;
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
}

/** Whether the process may open, write, execute and remember what it has to. */
export function processFree(config: {
  readonly data_dir: string;
  readonly key_provider: { readonly type: string };
  readonly auth: { readonly mtls: { readonly enabled: boolean } };
  readonly database: { readonly driver: string; readonly max_open_conns: number };
}): Finding {
  const { data_dir, key_provider, auth, database } = config;
  const pooled = database.driver === "postgres" ? database.max_open_conns : 0;
  const there = [data_dir, tmpdir()].filter((path) => fileFacts(path).kind !== "absent");
  // The addon is unpacked beside the keys, or where BUN_TMPDIR says.
  const unpacked = [process.env.BUN_TMPDIR ?? join(data_dir, "private")];
  return judgeProcess(
    {
      openFilesMax: openFilesMax(),
      openFilesOwn: filesAtRest + pooled,
      // Who may show a certificate comes through our own TLS and a pipe behind it.
      filesPerConnection: auth.mtls.enabled ? 4 : 1,
      memory: memoryMax(),
      unwritable: there.filter((path) => !writable(path)),
      unexecutable: unpacked.filter((path) => !executable(path)),
    },
    key_provider.type === "pkcs11",
  );
}

/** Listeners, database, log, signers and the runtime's own; 57 were measured under load. */
const filesAtRest = 64;
