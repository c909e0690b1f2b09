/** What every publish target guarantees, whatever it publishes into. */

import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";

import { type Artefact, manifestOf } from "#core/publishing/manifest.ts";
import { addSeconds } from "#core/time.ts";
import type { PublishTarget } from "#domain/publishing/target.ts";
import { noon } from "#test/support/stores/records.ts";

export interface TargetUnderTest {
  readonly target: PublishTarget;
  /** What a relying party is served now under a path; undefined for nothing. */
  served(path: string): Promise<Buffer | undefined>;
  /** Puts other octets in the place of what is published under a path. */
  damage(path: string, octets: Buffer): Promise<void>;
}

/** Tests the guarantees on fresh targets. */
export function publishTargetSuite(name: string, create: () => TargetUnderTest): void {
  describe(`Publish target ${name}`, () => {
    test("a snapshot is served whole, with its manifest", async () => {
      const { target, served } = create();
      expect(await target.previous()).toBeUndefined();
      const published = await publish(target, "1", { "a/crl.der": "one", "a/ca.der": "two" });
      expect((await served("a/crl.der"))?.toString()).toBe("one");
      expect((await served("a/ca.der"))?.toString()).toBe("two");
      expect(await target.previous()).toEqual(published);
    });

    test("until it is published nothing of it is seen, and what is abandoned never is", async () => {
      const { target, served } = create();
      const first = await publish(target, "1", { "a/crl.der": "one" });
      const half = await target.begin("2", first);
      await half.write(artefact("a/crl.der", "two"), [Buffer.from("two")]);
      expect((await served("a/crl.der"))?.toString()).toBe("one");
      await half.abandon();
      expect((await served("a/crl.der"))?.toString()).toBe("one");
      expect(await target.previous()).toEqual(first);
      await publish(target, "3", { "a/crl.der": "three" });
      expect((await served("a/crl.der"))?.toString()).toBe("three");
    });

    test("what is kept is the published octets, and what is gone is not kept", async () => {
      const { target, served } = create();
      const first = await publish(target, "1", { "a/x.der": "one", "a/y.der": "two" });
      const next = await target.begin("2", first);
      const [x] = first.artefacts;
      expect(await next.keep(x ?? artefact("", ""), "whole")).toBe(true);
      expect(await next.keep(artefact("a/never.der", "two"), "size")).toBe(false);
      await next.write(artefact("a/y.der", "three"), [Buffer.from("thr"), Buffer.from("ee")]);
      const artefacts = [x ?? artefact("", ""), artefact("a/y.der", "three")];
      await next.publish(manifestOf({ generatedAt: noon, cas: [], artefacts }));
      expect((await served("a/x.der"))?.toString()).toBe("one");
      expect((await served("a/y.der"))?.toString()).toBe("three");
    });

    test("octets that were damaged are not held, and kept by nobody who looks at them whole", async () => {
      const { target, damage } = create();
      const first = await publish(target, "1", { "a/x.der": "one", "a/y.der": "two" });
      const [x = artefact("", ""), y = artefact("", "")] = first.artefacts;
      await damage("a/x.der", Buffer.from("eno"));
      expect([await target.has(x), await target.has(y)]).toEqual([false, true]);
      expect(await target.has(artefact("a/never.der", "one"))).toBe(false);
      const next = await target.begin("2", first);
      expect(await next.keep(x, "whole")).toBe(false);
      expect(await next.keep(y, "whole")).toBe(true);
      await next.abandon();
    });

    test("what a snapshot no longer names is served no longer", async () => {
      const { target, served } = create();
      await publish(target, "1", { "a/x.der": "one", "a/ocsp.der": "good" });
      await publish(target, "2", { "a/x.der": "one" });
      expect(await served("a/ocsp.der")).toBeUndefined();
      expect((await served("a/x.der"))?.toString()).toBe("one");
    });

    test("long octets arrive as they are", async () => {
      const { target, served } = create();
      const octets = Buffer.alloc(20_000_000, "0123456789abcdef");
      const long = { ...artefact("a/crl.der", ""), size: octets.length, sha256: digestOf(octets) };
      const snapshot = await target.begin("1", undefined);
      const pieces = Array.from({ length: 20 }, (_, at) =>
        octets.subarray(at * 1e6, (at + 1) * 1e6),
      );
      await snapshot.write(long, pieces);
      await snapshot.publish(manifestOf({ generatedAt: noon, cas: [], artefacts: [long] }));
      expect(digestOf((await served("a/crl.der")) ?? Buffer.of())).toBe(long.sha256);
    });
  });
}

async function publish(
  target: PublishTarget,
  name: string,
  files: Readonly<Record<string, string>>,
) {
  const snapshot = await target.begin(name, await target.previous());
  const artefacts = Object.entries(files).map(([path, text]) => artefact(path, text));
  for (const one of artefacts) await snapshot.write(one, [Buffer.from(files[one.path] ?? "")]);
  const manifest = manifestOf({ generatedAt: noon, cas: [], artefacts });
  await snapshot.publish(manifest);
  return manifest;
}

/** An artefact with this content. */
export function artefact(path: string, text: string): Artefact {
  const list = path.endsWith("crl.der");
  return {
    path,
    kind: list ? "crl" : "ca_cert",
    sha256: digestOf(Buffer.from(text)),
    size: Buffer.byteLength(text),
    contentType: "application/pkix-cert",
    notAfter: addSeconds(noon, 3600),
    ...(list ? { crlNumber: 1 } : {}),
  };
}

const digestOf = (octets: Buffer): string => createHash("sha256").update(octets).digest("hex");
