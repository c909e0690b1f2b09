/** Keys and requests for the rows that have names alone, and files for what became of them. */

import { certificatesIn, spkiOf } from "#web/x509/paths.ts";
import type { DoneItem } from "./bulk-run.ts";
import { csvText } from "./csv.ts";
import { fileStem } from "./file-names.ts";
import { PageKey } from "./page-key.ts";
import type { RequestRow, Row } from "./rows.ts";
import { keyFileTools, requestTools } from "./tools.ts";
import { type ZipEntry, zip } from "./zip.ts";

/**
 * Makes a key for each row with names, has it sign the request, and keeps of it what is encrypted
 * under the passphrase.
 */
export async function withKeys(
  rows: readonly Row[],
  passphrase: string,
  onProgress: (made: number) => void,
): Promise<readonly Row[]> {
  const { requestFor } = await requestTools();
  const { keyFile } = await keyFileTools();
  const complete: Row[] = [];
  let made = 0;
  for (const row of rows) {
    if (row.kind === "names") {
      const { wanted, keyType, kind: _, ...common } = row;
      const key = await PageKey.make(keyType);
      const csr = await requestFor(key, wanted);
      const encryptedKey = await keyFile(key, passphrase);
      key.forget();
      const request: RequestRow = { ...common, kind: "request", csr, encryptedKey };
      complete.push(request);
      onProgress(++made);
    } else {
      complete.push(row);
    }
  }
  return complete;
}

/** A line for each row: what became of it, and why it did not. */
export const reportText = (items: readonly DoneItem[]): string =>
  csvText(
    ["ref", "status", "serial", "profile", "not_after", "approval_id", "error_code", "error"],
    items.map(({ ref, status, serial, profile, not_after, approval_id, error_code, error }) => ({
      ref,
      status,
      profile,
      serial: serial ?? "",
      not_after: not_after ?? "",
      approval_id: approval_id ?? "",
      error_code: error_code ?? "",
      error: error ?? "",
    })),
  );

export interface ArchiveOrder {
  readonly rows: readonly RequestRow[];
  readonly items: readonly DoneItem[];
  /** Of the encrypted keys; undefined leaves them out. */
  readonly passphrase: string | undefined;
  readonly onProgress: (written: number) => void;
}

/**
 * Every certificate with its chain, as PEM and, where the list has its key, as PKCS#12 under the
 * same passphrase; undefined when that does not open them.
 */
export async function archiveOf(order: ArchiveOrder): Promise<Blob | undefined> {
  const { rows, items, passphrase, onProgress } = order;
  const keys = new Map(rows.map((row) => [row.ref, row.encryptedKey]));
  const entries: ZipEntry[] = [];
  const names = new Set<string>();
  for (const [at, { ref, chain }] of items.entries()) {
    const certificates = certificatesIn(chain ?? "");
    const [leaf] = certificates;
    if (leaf === undefined) continue;
    const stem = unused(names, fileStem(ref));
    entries.push({ name: `${stem}.pem`, octets: new TextEncoder().encode(chain ?? "") });
    const encrypted = keys.get(ref);
    if (encrypted !== undefined && passphrase !== undefined) {
      const bundle = await bundled(encrypted, passphrase, certificates, stem);
      if (bundle === undefined) return undefined;
      entries.push({ name: `${stem}.p12`, octets: bundle });
    }
    onProgress(at + 1);
  }
  return zip(entries);
}

async function bundled(
  encrypted: string,
  passphrase: string,
  certificates: readonly Uint8Array[],
  name: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { openedKeyFile, pkcs12 } = await keyFileTools();
  const pkcs8 = await openedKeyFile(encrypted, passphrase);
  const [leaf] = certificates;
  if (pkcs8 === undefined || leaf === undefined) return undefined;
  const key = await PageKey.reopened(pkcs8, spkiOf(leaf));
  if (key === undefined) return undefined;
  const file = await pkcs12({ key, certificates, name, passphrase });
  key.forget();
  return new Uint8Array(await file.arrayBuffer());
}

/** Two refs may be spelled alike once they are names of files. */
function unused(names: Set<string>, stem: string): string {
  let name = stem;
  for (let count = 2; names.has(name.toLowerCase()); count++) name = `${stem}-${count}`;
  names.add(name.toLowerCase());
  return name;
}
