/** Restores without the KEK an archive was made under: its data keys, under a new one (RES-4). */

import { openKeys } from "#adapters/keys/open.ts";
import { LaunchFault } from "#adapters/keys/requests.ts";
import { osUser } from "#adapters/system.ts";
import { keyPorts, privateDirectory } from "#app/keys.ts";
import { openSecrets } from "#app/secrets.ts";
import type { NewKekReport } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import type { Config } from "#config/schema.ts";
import type { DataKeys } from "#core/backup/data-keys.ts";
import { discarded } from "#domain/discard.ts";
import { KekUnusable } from "#domain/envelopes/known.ts";
import { kekPlace } from "#domain/envelopes/place.ts";
import type { Recovered, Recovery } from "#domain/envelopes/recovery.ts";
import type { KekVersion } from "#domain/envelopes/store.ts";

/** What is said of the flag, wherever a KEK does not open. */
export const newKekRemedy =
  "If it is gone for good, `--new-kek` opens the archive by the data keys inside and seals everything under a new KEK.";

/**
 * What belongs to the KEK that is given up, among the files of the software key store: versions of
 * it, their ML-KEM halves, and what tells the right master key.
 */
export const belongsToKek = (file: string): boolean =>
  /\.(?:kek|mlkem)$/.test(file) || ["master.check", "master.salt", "master.key"].includes(file);

/** A KEK that is made for a restore, and unmade when nothing comes of that. */
export class NewKek {
  #made: KekVersion | undefined;
  #recovered: Recovered | undefined;

  /** What the instance is opened with. */
  recovery(dataKeys: DataKeys): Recovery {
    const user = osUser();
    return {
      dataKeys,
      by: { actor: `local:${user}`, actorName: user },
      made: (version) => {
        this.#made = version;
      },
      done: (recovered) => {
        this.#recovered = recovered;
      },
    };
  }

  /**
   * Throws `Failure` for a value that did not open, which nothing may go without, and for private
   * keys that did not unless `allowMissing`. `config` names the place of the KEK.
   */
  report(config: Config, dataKeys: DataKeys, allowMissing: boolean): NewKekReport {
    const [made, recovered] = [this.#made, this.#recovered];
    if (made === undefined || recovered === undefined) throw new Error("no KEK was made");
    const { values, privateKeys, shutValues, shutKeys } = recovered;
    if (shutValues.length > 0) {
      throw new Failure(
        `The archive has no data key for ${named(shutValues)}; an earlier archive may have them.`,
        "bad_archive",
      );
    }
    if (shutKeys.length > 0 && !allowMissing) {
      const why =
        dataKeys.privateKeys === undefined
          ? "The archive is of a release that took along no data keys of private keys"
          : "The archive has no data keys for some private keys";
      throw new Failure(
        `${why}, so these do not open: ${named(shutKeys)}. --allow-missing-keys restores without them.`,
        "key_unavailable",
      );
    }
    const { provider, family } = kekPlace(config);
    const { version } = made;
    return {
      provider,
      label: `${family}-v${version}`,
      version,
      values,
      private_keys: privateKeys,
      lost_keys: shutKeys,
    };
  }

  /** Destroys on a token what was made there for nothing; throws what stopped the restore. */
  async unmade(config: Config, because: unknown): Promise<never> {
    const key = this.#made?.key;
    if (key === undefined || key.provider === "software") throw because;
    const ports = keyPorts(openSecrets(config), () => config);
    const keys = await openKeys(config, { ...ports, privateDir: privateDirectory(config) });
    const gone = await discarded(() => keys.keks.destroy(key)).finally(() => keys.close());
    if (gone || !(because instanceof Error)) throw because;
    throw new Failure(
      `${because.message} The KEK ${key.label} stays on the token; destroy it there.`,
    );
  }
}

/**
 * As the place of a KEK that is tried and thrown away: in the software store, so that a dry run
 * leaves nothing on a token.
 */
export const inSoftware = (config: Config): Config => ({
  ...config,
  secret: { ...config.secret, kek_label: undefined },
});

/**
 * What keeps an instance from opening for want of its KEK, with the remedy; `more` is said before
 * it where it is not empty.
 */
export function withRemedy(error: unknown, more: string): unknown {
  const wanting =
    error instanceof KekUnusable ||
    (error instanceof LaunchFault && error.kind === "configuration");
  if (!wanting) return error;
  const sentences = [error.message, more, newKekRemedy].filter((one) => one !== "");
  return new Failure(sentences.join(" "), "key_unavailable");
}

/** The first few, and how many more. */
export function named(all: readonly string[]): string {
  const more = all.length > namedMax ? ` and ${all.length - namedMax} more` : "";
  return `${all.slice(0, namedMax).join(", ")}${more}`;
}

const namedMax = 10;
