/**
 * Which instance a place belongs to: data directory, key store and database carry one id, and are
 * refused when they do not.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

import { highWaterPath } from "#adapters/db/history/high-water-file.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { writeDurably } from "#adapters/keys/software/files.ts";
import type { Config } from "#config/schema.ts";
import { Problem } from "#core/problems.ts";
import type { Store } from "#domain/store.ts";

/**
 * A part of the instance is missing or is another instance's; the sentence says what was found, and
 * nothing changed.
 */
export class InstanceSplit extends Error {
  override readonly name = "InstanceSplit";
}

/** What stands in `<data_dir>/identity`; `founded` once the database has the same id. */
interface Identity {
  readonly instance_id: string;
  readonly founded: boolean;
}

/** Where an instance keeps what says that it has been there. */
interface Place {
  readonly directory: string;
  readonly keystore: string;
  /** Labels of the keys of pkid on the token; undefined where no token is configured. */
  readonly token?: (() => Promise<readonly string[]>) | undefined;
}

/** The id of one instance, as data directory and key store carry it. */
export class PlaceIdentity {
  readonly #directory: string;
  readonly #keystore: string;
  readonly #lookAtToken: (() => Promise<readonly string[]>) | undefined;
  #onToken: Promise<readonly string[]> | undefined;

  constructor({ directory, keystore, token }: Place) {
    this.#directory = directory;
    this.#keystore = keystore;
    this.#lookAtToken = token;
  }

  /** Of a configured instance. */
  static of({ data_dir, key_provider }: Config, token?: Place["token"]): PlaceIdentity {
    const keystore = key_provider.software.keystore_dir;
    return new PlaceIdentity({ directory: data_dir, keystore, token });
  }

  /**
   * Refuses to begin an instance where one has been: its database is missing or empty, which an
   * unmounted volume looks like. With `anew` another one begins instead. A first start that was
   * interrupted goes on, with the keys it has made.
   */
  async mayBegin(where: string, anew: boolean): Promise<void> {
    if (readIdentity(this.#file)?.founded === false) return;
    const here = this.#traces();
    if (anew && here.length > 0) this.beginAnew();
    if (anew) return;
    const traces = [...here, ...(await this.#tracesOnToken(here.length > 0))];
    if (traces.length === 0) return;
    throw new InstanceSplit(
      `There is no instance in ${where}, but ${traces.join(" and ")}. Is a volume not mounted? ` +
        "Nothing was changed; `pkid serve --found-anew` founds another instance here.",
    );
  }

  /**
   * Refuses a SQLite database that is missing or empty where an instance has been, before it is
   * made.
   */
  async mayOpen(address: StoreOptions, anew: boolean): Promise<void> {
    if (address.driver !== "sqlite") return;
    const bytes = statSync(address.path, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes === 0) await this.mayBegin(address.path, anew);
  }

  /**
   * Holds the id of an open database against the others. Gives the id the instance has or, where
   * none has begun, will have; that one is written down first, so that a start that is interrupted
   * goes on.
   */
  async settled(store: Store, anew: boolean): Promise<string> {
    const stored = await store.read.instance.value("instance_id");
    if (stored !== undefined) this.#mustMatch(stored);
    else await this.mayBegin("the database", anew);
    const known = readIdentity(this.#file);
    const id = stored ?? known?.instance_id ?? crypto.randomUUID();
    if (known === undefined) this.#write({ instance_id: id, founded: false });
    return id;
  }

  /** The database has the id now, and the key store is there. */
  founded(id: string): void {
    if (this.#keyStoreId() === undefined) writeDurably(this.#mark, Buffer.from(`${id}\n`));
    if (readIdentity(this.#file)?.founded !== true) this.#write({ instance_id: id, founded: true });
  }

  /**
   * Another instance will begin here: the identity of the earlier one is kept beside the new one,
   * its keys stay.
   */
  beginAnew(): void {
    for (const file of [this.#file, this.#mark, highWaterPath(this.#directory)]) {
      if (existsSync(file)) renameSync(file, `${file}.before-${Date.now()}`);
    }
    this.#write({ instance_id: crypto.randomUUID(), founded: false });
  }

  /** What says on this machine that an instance has been here. */
  #traces(): readonly string[] {
    const known = readIdentity(this.#file);
    const traces: string[] = [];
    if (known !== undefined) {
      traces.push(`${this.#directory} belongs to instance ${known.instance_id}`);
    }
    const keys = this.#keys();
    if (keys > 0) traces.push(`there are ${keys} keys in ${this.#keystore}`);
    return traces;
  }

  /**
   * The same of the token; one that cannot be asked is no reason to begin, unless the refusal is
   * `certain` already.
   */
  async #tracesOnToken(certain: boolean): Promise<readonly string[]> {
    try {
      this.#onToken ??= this.#lookAtToken?.() ?? Promise.resolve([]);
      const labels = await this.#onToken;
      if (labels.length === 0) return [];
      const more = labels.length > labelsNamed ? `, and ${labels.length - labelsNamed} more` : "";
      return [`the token holds keys of one (${labels.slice(0, labelsNamed).join(", ")}${more})`];
    } catch (error) {
      if (certain) return [];
      if (!(error instanceof Problem)) throw error;
      throw new InstanceSplit(
        "No instance is here yet, and the token cannot be asked whether it holds keys of one: " +
          `${error.message} Nothing was changed; \`pkid serve --found-anew\` begins without asking it.`,
      );
    }
  }

  #mustMatch(stored: string): void {
    const known = readIdentity(this.#file);
    // Of replicas that begin at once one gives the id.
    if (known?.founded === true && known.instance_id !== stored) {
      throw new InstanceSplit(
        `The database is that of instance ${stored}, the data directory ${this.#directory} that of ${known.instance_id}.`,
      );
    }
    const keys = this.#keyStoreId();
    if (keys !== undefined && keys !== stored) {
      throw new InstanceSplit(
        `The database is that of instance ${stored}, the keys in ${this.#keystore} are those of ${keys}.`,
      );
    }
    if (known?.founded === true && keys === undefined && this.#keys() === 0) {
      throw new InstanceSplit(
        `The keys of instance ${stored} are missing: ${this.#keystore} is empty. Is a volume not mounted?`,
      );
    }
  }

  #write(identity: Identity): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    writeDurably(this.#file, Buffer.from(`${JSON.stringify(identity)}\n`));
  }

  get #file(): string {
    return join(this.#directory, "identity");
  }

  get #mark(): string {
    return join(this.#keystore, "instance");
  }

  #keyStoreId(): string | undefined {
    return existsSync(this.#mark) ? readFileSync(this.#mark, "utf8").trim() : undefined;
  }

  #keys(): number {
    if (!existsSync(this.#keystore)) return 0;
    return readdirSync(this.#keystore).filter((name) => name.endsWith(".key")).length;
  }
}

/** The instance a data directory belongs to; undefined where none has been. */
export const instanceAt = (directory: string): string | undefined =>
  readIdentity(join(directory, "identity"))?.instance_id;

const labelsNamed = 5;

function readIdentity(file: string): Identity | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const { instance_id, founded } = JSON.parse(readFileSync(file, "utf8"));
    if (typeof instance_id === "string" && typeof founded === "boolean") {
      return { instance_id, founded };
    }
  } catch {
    // Not what pkid writes: refused below, with its name.
  }
  throw new InstanceSplit(`${file} does not say which instance the data directory belongs to.`);
}
