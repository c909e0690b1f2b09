/** Runs in a thread: looks at every certificate of a file, says what it found, and ends. */

import { parentPort } from "node:worker_threads";

import type { Connection } from "#adapters/db/engine/connection.ts";

import { beginning } from "./beginning.ts";
import { proveCertificates } from "./certificates.ts";
import type { CertificatesFound, CertificatesJob } from "./certificates-thread-data.ts";
import { collecting, newLook } from "./look.ts";
import { openForProof } from "./open.ts";

/** What keeps it from its end ends the thread, and is met by whoever waits for it. */
export async function runCertificatesJob({ certificates }: CertificatesJob): Promise<void> {
  const { path } = certificates;
  const engine = await openForProof({ driver: "sqlite", path, busy_timeout_ms: 5000 });
  try {
    const found = await engine.view((connection) => foundIn(connection, certificates));
    const { pairs, certificates: told, pruned } = found;
    parentPort?.postMessage(
      found,
      [pairs, told, pruned].map(({ keys }) => keys.buffer),
    );
  } finally {
    await engine.close();
    parentPort?.close();
  }
}

async function foundIn(
  connection: Connection,
  { salt, verified }: CertificatesJob["certificates"],
): Promise<CertificatesFound> {
  const from = await beginning(connection, 0);
  if (typeof from === "string") throw new Error(from);
  let rows = 0;
  const advanced = collecting((more) => {
    rows += more;
  });
  const look = await newLook({ connection, from, salt, verified, advanced, fast: false });
  await proveCertificates(look);
  return {
    proofs: Object.values(look.proofs).map(({ findings }) => findings),
    pairs: look.pairs.parts,
    certificates: look.certificates.parts,
    pruned: look.pruned.parts,
    unknown: [...look.authorities.unknown],
    rows,
  };
}
