/**
 * Opens what is sealed without the KEK that sealed it: by the data keys of an archive, under a new
 * KEK (RES-4).
 */

import type { EventDraft } from "#core/audit/actions.ts";
import type { DataKeys } from "#core/backup/data-keys.ts";
import type { Keys } from "#domain/keys.ts";
import type { Store } from "#domain/store.ts";
import type { Envelopes } from "./envelopes.ts";
import type { Keks } from "./keks.ts";
import type { KekVersion, SealedValue } from "./store.ts";

/** What an instance is opened with when its KEK is given up. */
export interface Recovery {
  readonly dataKeys: DataKeys;
  /** Who gives it up. */
  readonly by: Pick<EventDraft, "actor" | "actorName">;
  /** Told as soon as the new version is made: whoever fails after that destroys it. */
  readonly made: (version: KekVersion) => void;
  /** Told what came of it. */
  readonly done: (recovered: Recovered) => void;
}

/** What came of it. */
export interface Recovered {
  /** Values that open under the new version. */
  readonly values: number;
  /** Software-held private keys that do. */
  readonly privateKeys: number;
  /** Places of values that no data key opens. */
  readonly shutValues: readonly string[];
  /** Labels of private keys that no data key opens. */
  readonly shutKeys: readonly string[];
}

export interface RecoveryDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly keks: Keks;
  readonly envelopes: Pick<Envelopes, "under">;
}

/**
 * Makes a version of the KEK where the configuration has it, brings everything under it, and
 * retires the versions before it, which nobody asks for anything. One unit records the event
 * `kek.rotate` with the new version. What no data key opens stays as it is, and is named.
 */
export async function recover(deps: RecoveryDeps, recovery: Recovery): Promise<void> {
  const { store, keys, keks } = deps;
  const { dataKeys, by, made, done } = recovery;
  const before = (await keks.versions()).filter(({ status }) => status !== "retired");
  const active = before.find(({ status }) => status === "active");
  const next = await keks.next(active, async (tx, version, at) => {
    const detail = { old_version: active?.version, new_version: version.version };
    const event = { action: "kek.rotate", result: "success", target: version.family } as const;
    await tx.audit.appendEvent({ ...event, ...by, detail }, at);
  });
  if (next === undefined) throw new Error("nobody else makes a KEK in an instance being restored");
  made(next);
  await keks.tell();
  const values = await valuesUnder(deps, { before, next, dataKeys: dataKeys.values });
  await keys.keks.takeOver(dataKeys.privateKeys ?? new Map());
  const sealed = (await keys.list("software")).filter(({ kekVersion }) => kekVersion !== undefined);
  const shut = sealed.filter(({ kekVersion }) => kekVersion !== next.version);
  for (const { version } of before) {
    await store.atomically((tx) => tx.envelopes.retire(version));
  }
  await keks.tell();
  done({
    values: values.opened,
    privateKeys: sealed.length - shut.length,
    shutValues: values.shut,
    shutKeys: shut.map(({ label }) => label),
  });
}

async function valuesUnder(
  { store, envelopes }: RecoveryDeps,
  {
    before,
    next,
    dataKeys,
  }: {
    readonly before: readonly KekVersion[];
    readonly next: KekVersion;
    readonly dataKeys: ReadonlyMap<string, Uint8Array>;
  },
): Promise<{ readonly opened: number; readonly shut: readonly string[] }> {
  const shut: string[] = [];
  let opened = 0;
  for (const { version } of before) {
    const page = (after?: SealedValue) =>
      store.read.envelopes.under(version, pageRows, after?.place);
    for (let rows = await page(); rows.length > 0; rows = await page(rows.at(-1))) {
      const pairs: (readonly [SealedValue, SealedValue])[] = [];
      for (const value of rows) {
        const dek = dataKeys.get(value.place);
        const now = dek && (await envelopes.under(next, value, dek));
        if (now === undefined) shut.push(value.place);
        else pairs.push([value, now]);
      }
      await store.atomically(async (tx) => {
        for (const [from, now] of pairs) await tx.envelopes.rewrap(from, now);
      });
      opened += pairs.length;
    }
  }
  return { opened, shut };
}

const pageRows = 100;
