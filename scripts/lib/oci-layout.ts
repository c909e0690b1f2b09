/**
 * Writes a container image of one layer as an archive of an OCI image layout (image-spec 1.1),
 * which also says what `docker load` reads. No builder and no daemon is asked, and the same image
 * gives the same bytes.
 */

import { writeFileSync } from "node:fs";

import { tarEnd, tarHeader, tarPadding } from "#core/tar.ts";
import type { RunSettings } from "./containerfile.ts";

/** What an image is made of, and what it says of itself. */
export interface Image {
  /** With registry and without tag, such as `localhost/pkid`. */
  readonly name: string;
  readonly title: string;
  readonly version: string;
  /** Of the sources; empty where it is not known. */
  readonly revision: string;
  /** Seconds; the archive has no other time. */
  readonly created: number;
  /** As Go calls it: amd64, arm64. */
  readonly architecture: string;
  readonly run: RunSettings;
  /** The tar archive of its files. */
  readonly layer: Uint8Array<ArrayBuffer>;
}

/**
 * Takes a file name and an image and writes its archive there, with the version as its tag. The
 * layer is compressed by the runtime, so the bytes are those of one version of it.
 */
export function writeOciArchive(file: string, image: Image): void {
  const created = new Date(image.created * 1000).toISOString().replace(".000Z", "Z");
  const annotations = annotationsOf(image, created);
  const layer = blob("application/vnd.oci.image.layer.v1.tar+gzip", Bun.gzipSync(image.layer));
  const config = jsonBlob("application/vnd.oci.image.config.v1+json", {
    created,
    architecture: image.architecture,
    os: "linux",
    config: { ...image.run, Labels: annotations },
    rootfs: { type: "layers", diff_ids: [digest(image.layer)] },
    history: [{ created, created_by: "ADD files.tar /" }],
  });
  const manifest = jsonBlob(manifestType, {
    schemaVersion: 2,
    mediaType: manifestType,
    config: config.descriptor,
    layers: [layer.descriptor],
    annotations,
  });
  const index = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      {
        ...manifest.descriptor,
        platform: { architecture: image.architecture, os: "linux" },
        annotations: {
          "io.containerd.image.name": `${image.name}:${image.version}`,
          "org.opencontainers.image.ref.name": image.version,
        },
      },
    ],
  };
  const blobs = [layer, config, manifest].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const members = new Map<string, Uint8Array<ArrayBuffer>>([["oci-layout", json(layoutVersion)]]);
  for (const { path, octets } of blobs) members.set(path, octets);
  members.set("index.json", json(index));
  members.set("manifest.json", json(dockerManifest(image, config, layer)));
  writeFileSync(file, archiveOf(members, image.created));
}

/** Of the keys that the image specification has for everybody, those that are known here. */
function annotationsOf(image: Image, created: string): Readonly<Record<string, string>> {
  const { title, version, revision } = image;
  return {
    "org.opencontainers.image.created": created,
    ...(revision === "" ? {} : { "org.opencontainers.image.revision": revision }),
    "org.opencontainers.image.title": title,
    "org.opencontainers.image.version": version,
  };
}

/** A docker that keeps no OCI images reads this file in place of the index, of the same blobs. */
const dockerManifest = (image: Image, config: Blob, layer: Blob) => [
  { Config: config.path, RepoTags: [`${image.name}:${image.version}`], Layers: [layer.path] },
];

interface Blob {
  readonly path: string;
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly descriptor: {
    readonly mediaType: string;
    readonly digest: string;
    readonly size: number;
  };
}

function blob(mediaType: string, octets: Uint8Array<ArrayBuffer>): Blob {
  const name = digest(octets);
  return {
    path: `blobs/${name.replace(":", "/")}`,
    octets,
    descriptor: { mediaType, digest: name, size: octets.length },
  };
}

const jsonBlob = (mediaType: string, value: object): Blob => blob(mediaType, json(value));

const json = (value: object): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(JSON.stringify(value));

const digest = (octets: Uint8Array): string =>
  `sha256:${new Bun.CryptoHasher("sha256").update(octets).digest("hex")}`;

function archiveOf(
  members: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  time: number,
): Uint8Array<ArrayBuffer> {
  const parts = [...members].flatMap(([name, octets]) => [
    tarHeader(name, octets.length, time, 0o644),
    octets,
    tarPadding(octets.length),
  ]);
  return Bun.concatArrayBuffers([...parts, tarEnd()], Number.POSITIVE_INFINITY, true);
}

const manifestType = "application/vnd.oci.image.manifest.v1+json";
const layoutVersion = { imageLayoutVersion: "1.0.0" };
