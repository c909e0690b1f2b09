/** Limits of connections by the open files that the system allows to this process. */

import { openFilesMax } from "#adapters/preflight/host.ts";
import { openAcceptance, countOpenFiles } from "#adapters/sockets/acceptance.ts";
import {
  computeBacklog,
  computeOpenFilesMax,
  ConnectionGate,
} from "#adapters/sockets/connection-gate.ts";
import { systemStopwatch } from "#adapters/system.ts";
import type { Config } from "#config/schema.ts";
import type { Log } from "#domain/ports.ts";
import type { Addresses } from "#http/listener.ts";

/**
 * Returns the gate of the TCP listeners; undefined without a limit, and where the system cannot
 * pause a listener.
 */
export function createConnectionGate({ main, public: open }: Addresses, log: Log) {
  const limit = openFilesMax();
  if (limit === undefined) return undefined;
  const ports = () => (open === undefined ? [main] : [main, open]);
  const acceptance = openAcceptance(ports, computeBacklog(limit));
  return (
    acceptance &&
    new ConnectionGate({
      acceptance,
      limit,
      countOpenFiles,
      stopwatch: systemStopwatch,
      log,
    })
  );
}

/**
 * Returns how many connections each listener may have that pipes them, with four open files for
 * each; undefined without a limit.
 */
export function computePipedConnectionsMax({ server, auth }: Config): number | undefined {
  const limit = openFilesMax();
  if (limit === undefined) return undefined;
  const listeners = server.unix_socket.path !== undefined && auth.mtls.enabled ? 2 : 1;
  const free = computeOpenFilesMax(limit) - filesAtRest;
  return Math.min(10_000, Math.max(1, Math.floor(free / filesPerPipe / listeners)));
}

/** Listeners, database, log and signers. */
const filesAtRest = 100;
const filesPerPipe = 4;
