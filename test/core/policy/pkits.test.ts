/**
 * NIST's path validation suite, where a Go toolchain brings it along: our verdict on each path is
 * the suite's.
 */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { DerError } from "#core/asn1/cursor.ts";
import { isSoundPath } from "#core/policy/validate.ts";
import { instant } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { findPath } from "#core/x509/path.ts";

interface Vector {
  readonly Name: string;
  readonly CertPath: readonly string[];
  readonly ShouldValidate: boolean;
  readonly InitialPolicySet: readonly string[];
  readonly InitialPolicyMappingInhibit: boolean;
  readonly InitialExplicitPolicy: boolean;
  readonly InitialAnyPolicyInhibit: boolean;
}

/** Invalid for what revocation lists say, or for who may sign them. */
const byLists: ReadonlySet<string> = new Set(["4.5.2", "4.5.5", "4.5.7", "4.7.4", "4.7.5"]);
/**
 * Keys of DSA, which nobody here knows, and a directory name among the alternative names, which
 * none here carries.
 */
const refusedHere: ReadonlySet<string> = new Set(["4.1.4", "4.1.5", "4.13.5"]);

const folder = vectorsFolder();
const vectors: readonly Vector[] =
  folder === undefined ? [] : JSON.parse(readFileSync(join(folder, "vectors.json"), "utf8"));
const now = instant(Date.UTC(2020, 0, 1));

test.skipIf(folder === undefined)("the suite is as long as it was", () => {
  expect(vectors.length).toBeGreaterThan(200);
});

for (const vector of vectors.filter((one) => !isOfSomethingElse(one))) {
  test(`PKITS ${vector.Name}`, () => {
    const isRefused = refusedHere.has(vector.Name.split(" ")[0] ?? "");
    expect(isValid(vector)).toBe(vector.ShouldValidate && !isRefused);
  });
}

function isValid({ CertPath }: Vector): boolean {
  const read = CertPath.map(certificateIn);
  const [anchor] = read;
  const certificate = read.at(-1);
  if (anchor === undefined || certificate === undefined) return false;
  const intermediates = read.slice(1, -1).filter((one) => one !== undefined);
  const accept = (path: readonly ParsedCertificate[]) => isSoundPath(path, now);
  return findPath({ certificate, intermediates, anchors: [anchor], now, accept })?.whole === true;
}

function certificateIn(file: string): ParsedCertificate | undefined {
  try {
    return parseCertificate(new Uint8Array(readFileSync(join(folder ?? "", "certs", file))));
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** Revocation lists are judged elsewhere, and we ask for any policy and inhibit nothing. */
function isOfSomethingElse(vector: Vector): boolean {
  const { Name, InitialPolicySet, ...inhibits } = vector;
  const asksMore =
    inhibits.InitialPolicyMappingInhibit ||
    inhibits.InitialExplicitPolicy ||
    inhibits.InitialAnyPolicyInhibit ||
    InitialPolicySet.join() !== "anyPolicy";
  return asksMore || /^4\.(?:4|14|15)\./.test(Name) || byLists.has(Name.split(" ")[0] ?? "");
}

function vectorsFolder(): string | undefined {
  const go = Bun.which("go");
  if (go === null) return undefined;
  const root = Bun.spawnSync([go, "env", "GOROOT"]).stdout.toString().trim();
  const found = join(root, "src/crypto/x509/testdata/nist-pkits");
  return existsSync(join(found, "vectors.json")) ? found : undefined;
}
