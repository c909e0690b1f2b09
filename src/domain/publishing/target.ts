/**
 * Where artefacts are published for relying parties to fetch without pkid: a directory, or an
 * S3-compatible store.
 */

import type { Artefact, Manifest } from "#core/publishing/manifest.ts";

/** The octets of an artefact, in pieces. */
export type Octets = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * The port. A snapshot is complete or not there: whoever reads the published manifest finds every
 * artefact it names, with the octets it names, whenever the process dies. Methods throw
 * `TargetFault`.
 */
export interface PublishTarget {
  /** `dir` or `s3`, as answers and events name it. */
  readonly name: "dir" | "s3";
  /** How many artefacts are best written at once. */
  readonly concurrency: number;
  /** The manifest published last; undefined when there is none that can be read. */
  previous(): Promise<Manifest | undefined>;
  /**
   * True when what is published under the path has the size and digest of the artefact; its octets
   * are read.
   */
  has(artefact: Artefact): Promise<boolean>;
  /**
   * Begins a snapshot beside the published one. `name` sorts by time and was not
   * used before.
   */
  begin(name: string, previous: Manifest | undefined): Promise<Snapshot>;
}

/** A snapshot being made. */
export interface Snapshot {
  write(artefact: Artefact, octets: Octets): Promise<void>;
  /**
   * Takes an artefact of the published snapshot over as it is; false when it is not there any more,
   * or another: by its digest with `whole`, which reads it, else by its size.
   */
  keep(artefact: Artefact, look: "whole" | "size"): Promise<boolean>;
  /** Makes the snapshot the published one, its manifest last, and reads back what was written. */
  publish(manifest: Manifest): Promise<void>;
  /** Removes what was written; never throws. */
  abandon(): Promise<void>;
}

/** A target that does not take what it is given; the message is a sentence without credentials. */
export class TargetFault extends Error {
  override readonly name = "TargetFault";
}
