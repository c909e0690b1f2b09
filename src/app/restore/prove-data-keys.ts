/**
 * Whether the data keys in an archive open everything that is sealed in it: then it restores on the
 * day its KEK is lost (BAK-3, RES-4).
 */

import { keyStoreFiles, triedKeys } from "#adapters/keys/software/archive-files.ts";
import type { DrillReport } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import type { DataKeys } from "#core/backup/data-keys.ts";
import { openEnvelope, parseEnvelope } from "#core/envelope.ts";
import type { KekVersion, SealedValue } from "#domain/envelopes/store.ts";
import type { Store } from "#domain/store.ts";
import { named } from "./new-kek.ts";
import type { Scratch } from "./scratch.ts";

/**
 * Tries every data key of what was unpacked, and needs no KEK for that; what opens is wiped. Throws
 * `Failure` that names what no data key opens. Private keys that no KEK in use opened are lost with
 * or without the archive: they are told, like those of an archive that has no data keys of any.
 */
export async function mustOpenByDataKeys(scratch: Scratch): Promise<DrillReport["data_keys"]> {
  const { dataKeys } = scratch;
  const store = await scratch.store();
  try {
    const versions = await store.read.envelopes.versions();
    const values = await triedValues(store, versions, dataKeys.values);
    const inUse = new Set(versions.filter(isInUse).map(({ version }) => version));
    const keys = triedKeys(keyStoreFiles(scratch.keystore, undefined), dataKeys.privateKeys);
    const shut = keys.filter(({ opens }) => !opens);
    const isTold = ({ kekVersion }: (typeof shut)[number]) =>
      dataKeys.privateKeys === undefined || kekVersion === undefined || !inUse.has(kekVersion);
    const labels = shut.filter((key) => !isTold(key)).map(({ label }) => `private key ${label}`);
    mustBeNone([...values.shut, ...labels]);
    return {
      values: values.opened,
      private_keys: keys.length - shut.length,
      missing: shut.map(({ label }) => label),
      ...noteOn(dataKeys),
    };
  } finally {
    await store.close();
  }
}

const isInUse = ({ status }: KekVersion): boolean => status !== "retired";

async function triedValues(
  { read }: Store,
  versions: readonly KekVersion[],
  dataKeys: DataKeys["values"],
): Promise<{ readonly opened: number; readonly shut: readonly string[] }> {
  const shut: string[] = [];
  let opened = 0;
  for (const { version } of versions) {
    const page = (after?: SealedValue) => read.envelopes.under(version, pageRows, after?.place);
    for (let rows = await page(); rows.length > 0; rows = await page(rows.at(-1))) {
      for (const value of rows) {
        if (opens(value, dataKeys.get(value.place))) opened += 1;
        else shut.push(value.place);
      }
    }
  }
  return { opened, shut };
}

function opens({ place, envelope: text }: SealedValue, dek: Uint8Array | undefined): boolean {
  const envelope = parseEnvelope(text);
  const content = envelope && dek && openEnvelope(envelope, dek, place);
  content?.fill(0);
  return content !== undefined;
}

function mustBeNone(shut: readonly string[]): void {
  if (shut.length === 0) return;
  throw new Failure(
    `The data keys in the archive do not open ${named(shut)}: without its KEK it would not be restored whole.`,
    "bad_archive",
  );
}

const noteOn = ({ privateKeys }: DataKeys): { readonly note?: string } =>
  privateKeys === undefined
    ? { note: "The archive is of a release that took along no data keys of private keys." }
    : {};

const pageRows = 100;
