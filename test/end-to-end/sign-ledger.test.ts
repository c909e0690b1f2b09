/**
 * The exported sign ledger, checked with nothing but the file, openssl and what LED-1 to LED-3
 * say.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, verify as verifySignature, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import {
  type Chain,
  createChain,
  walkCertificate,
} from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

interface Entry {
  readonly number: number;
  readonly kind: string;
  readonly op_id?: string;
  readonly operation?: string;
  readonly result?: string;
  readonly signer_fingerprint: string;
  readonly purpose?: string;
  readonly artifact?: string;
  readonly digest?: string;
  readonly signature_sha256?: string;
  readonly prev_hash: string;
  readonly hash: string;
  readonly sign_audit_id?: string;
}

interface Operation {
  readonly id: string;
  readonly user_sub: string;
  readonly ca_label: string;
  readonly cert_format: string;
  readonly purpose: string;
  readonly serial?: string;
  readonly crl_scope?: string;
  readonly crl_number?: number;
  readonly digest: string;
  readonly signature_sha256: string;
  readonly certificate?: string;
  readonly artifact_der?: string;
  readonly artifact_pruned?: boolean;
}

interface Document {
  readonly format: string;
  readonly ledger_id: string;
  readonly provider: string;
  readonly device_serial: string;
  readonly first_number: number;
  readonly last_number: number;
  readonly first_prev_hash: string;
  readonly last_hash: string;
  readonly exported_at: string;
  readonly entries?: readonly Entry[];
  readonly hsm_entries?: readonly Entry[];
  readonly sign_operations?: readonly Operation[];
  readonly open_intents: readonly string[];
  readonly counts: Readonly<Record<string, { readonly role: string; readonly sign: number }>>;
  readonly signature_algorithm: string;
  readonly signature: string;
  readonly attestation_cert_pem: string;
  readonly device_cert_pem: string;
}

let hsmToken: SoftHsmToken;
let instance: Instance;
let chain: Chain;
beforeAll(async () => {
  hsmToken = await createHsmToken();
  const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };
  const options = { config: { ...hsmToken.config, server }, env: hsmToken.env };
  instance = await Instance.start(options);
  chain = await createChain(instance, "ecdsa-p256");
  await walkCertificate(instance, chain, "ecdsa-p256");
  expect((await instance.cli("preflight", "--deep", "--json")).code).toBeLessThan(2);
  // What has been counted until then is in the ledger from the stop on.
  await instance.stop();
  instance = await Instance.start({ ...options, home: instance.home });
}, 90_000);
afterAll(async () => {
  await instance?.dispose();
  hsmToken?.remove();
});

/** Has the shell write the document, and gives its text. */
async function exported(...flags: readonly string[]): Promise<string> {
  const file = join(instance.home, "ledger.json");
  const ran = await instance.cli("hsm", "log", ...flags, "--out", file);
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  return readFileSync(file, "utf8");
}

/** What the ledger key has signed, written down from the contract and not from the code. */
function signedOctets(text: string): Buffer {
  const document = JSON.parse(text) as Document;
  const range = [String(document.first_number), String(document.last_number)];
  const texts = [document.format, document.ledger_id, document.provider, document.device_serial]
    .concat(range)
    .concat([document.first_prev_hash, document.last_hash, document.exported_at]);
  const operations = /"sign_operations":(\[.*\]),"key_attestations"/s.exec(text)?.[1];
  if (operations !== undefined) texts.push(createHash("sha256").update(operations).digest("hex"));
  const framed = texts.flatMap((one) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(one));
    return [length, Buffer.from(one)];
  });
  return Buffer.concat([Buffer.from("pkid/ledger-export/1\0")].concat(framed));
}

async function opensslSays(text: string): Promise<string> {
  const document = JSON.parse(text) as Document;
  const folder = instance.home;
  const certificate = saved(folder, "attestation.pem", document.attestation_cert_pem);
  const key = (await openssl(["x509", "-in", certificate, "-noout", "-pubkey"])).text;
  const checked = await openssl(
    ["pkeyutl", "-verify", "-pubin", "-inkey", saved(folder, "attestation.pub", key), "-rawin"]
      .concat(["-in", saved(folder, "signed.bin", signedOctets(text))])
      .concat([
        "-sigfile",
        saved(folder, "signature.bin", Buffer.from(document.signature, "base64")),
      ]),
    { mustPass: false },
  );
  return checked.text.trim();
}

for (const [flags, member] of [
  [[], "entries"],
  [["--combined"], "hsm_entries"],
] as const) {
  describe(`\`pkid hsm log ${flags.join("")}\``, () => {
    let text: string;
    let document: Document;
    let entries: readonly Entry[];
    beforeAll(async () => {
      text = await exported(...flags);
      document = JSON.parse(text) as Document;
      entries = document[member] ?? [];
    });

    test("V1: runs without a gap from the genesis to the head, each entry linked to the one before", () => {
      expect(document.format).toBe("pkid-ledger-1");
      expect(entries.map(({ number }) => number)).toEqual(entries.map((_, at) => at + 1));
      expect(document.first_prev_hash).toBe("0".repeat(64));
      expect(entries.map(({ prev_hash }) => prev_hash)).toEqual(
        [document.first_prev_hash].concat(entries.slice(0, -1).map(({ hash }) => hash)),
      );
      expect(entries.at(-1)?.hash).toBe(document.last_hash);
      expect(document.last_number).toBe(entries.length);
    });

    test("V2: openssl says that the key of the genesis has signed it, and that an edited one is not genuine", async () => {
      const certificate = new X509Certificate(document.attestation_cert_pem);
      const spki = certificate.publicKey.export({ type: "spki", format: "der" });
      const fingerprint = createHash("sha256").update(spki).digest("base64").replaceAll("=", "");
      expect(entries[0]).toMatchObject({ kind: "genesis" });
      expect([`SHA256:${fingerprint}`, createHash("sha256").update(spki).digest("hex")]).toContain(
        entries[0]?.signer_fingerprint ?? "",
      );
      expect(certificate.subject).toBe(`CN=pkid ledger ${document.ledger_id}`);
      expect(certificate.verify(certificate.publicKey)).toBe(true);
      expect(await opensslSays(text)).toBe("Signature Verified Successfully");
      const other = text.replace(document.last_hash, "0".repeat(64));
      expect(await opensslSays(other)).toBe("Signature Verification Failure");
    });

    test("V3 and V7: every intent has its outcome, and the counts are those of the entries", () => {
      const named = (kind: string) =>
        entries.filter((entry) => entry.kind === kind).map(({ op_id }) => op_id);
      expect(named("outcome").toSorted()).toEqual(named("intent").toSorted());
      expect(document.open_intents).toEqual([]);
      const listed = entries.filter(
        ({ kind, result }) => kind === "outcome" && result === "success",
      );
      const counted = Object.values(document.counts).filter(({ role }) => role === "ca");
      expect(counted.reduce((sum, { sign }) => sum + sign, 0)).toBe(listed.length);
      // Answers of OCSP are counted, not listed.
      expect(Object.values(document.counts).find(({ role }) => role === "responder")?.sign).toBe(2);
    });

    test("names the token, and says that no device attests", () => {
      expect(document.provider).toBe("pkcs11");
      expect(document.device_serial).not.toBe("");
      expect(document.device_cert_pem).toBe("");
    });
  });
}

describe("the combined document", () => {
  let document: Document;
  beforeAll(async () => {
    document = JSON.parse(await exported("--combined")) as Document;
  });

  test("V4: has one operation for each successful signature", () => {
    const signed = (document.hsm_entries ?? []).filter(
      ({ kind, operation, result }) =>
        kind === "outcome" && operation === "sign" && result === "success",
    );
    expect(signed.map(({ sign_audit_id }) => sign_audit_id)).toEqual(
      (document.sign_operations ?? []).map(({ id }) => id),
    );
    expect(new Set(signed.map(({ purpose }) => purpose))).toEqual(
      new Set(
        ["ca_certificate", "certificate", "responder_certificate"].concat([
          "crl",
          "delta_crl",
          "self_test",
        ]),
      ),
    );
  });

  test("V5: every artefact it holds is the one that was signed, by the key that is named", () => {
    const outcomes = new Map(
      (document.hsm_entries ?? []).map((entry) => [entry.sign_audit_id, entry]),
    );
    const issuers = new Map<string, ReturnType<typeof verifier>>();
    for (const { certificate, purpose } of document.sign_operations ?? []) {
      if (purpose !== "ca_certificate" || certificate === undefined) continue;
      const parsed = new X509Certificate(certificate);
      const spki = parsed.publicKey.export({ type: "spki", format: "der" });
      for (const { signer_fingerprint: name } of outcomes.values()) {
        if (name === fingerprintLike(name, spki)) issuers.set(name, verifier(parsed));
      }
    }
    const kinds: string[] = [];
    for (const operation of document.sign_operations ?? []) {
      const outcome = outcomes.get(operation.id);
      if (operation.artifact_pruned === true) {
        expect(["crl", "delta_crl"]).toContain(operation.purpose);
        continue;
      }
      const { tbs, signature } = signedParts(operation);
      expect(createHash("sha256").update(tbs).digest("hex")).toBe(operation.digest);
      expect(createHash("sha256").update(signature).digest("hex")).toBe(operation.signature_sha256);
      expect(outcome).toMatchObject({ digest: operation.digest });
      expect(issuers.get(outcome?.signer_fingerprint ?? "")?.(tbs, signature)).toBe(true);
      if (operation.serial !== undefined) expect(operation.serial).toBe(outcome?.artifact ?? "");
      if (operation.crl_scope !== undefined) {
        expect(`${operation.crl_scope}#${operation.crl_number}`).toBe(outcome?.artifact ?? "");
      }
      kinds.push(operation.cert_format);
    }
    expect(new Set(kinds)).toEqual(new Set(["x509", "crl", "self_test"]));
  });

  test("says who asked for a certificate, and under which CA", () => {
    const leaves = document.sign_operations?.filter(({ purpose }) => purpose === "certificate");
    expect(leaves?.map(({ ca_label, user_sub }) => [ca_label, user_sub])).toEqual([
      ["pkid internal serving", "system:serving"],
      ["issuing-ecdsa-p256", expect.stringMatching(/^local:/)],
    ]);
  });
});

describe("`pkid hsm verify-log`", () => {
  /** Runs it in a folder that has nothing of the instance. */
  async function verified(text: string, key: string) {
    const file = saved(instance.home, "to-verify.json", text);
    const ran = await instance.cli("hsm", "verify-log", file, "--key", key, "--json");
    return { code: ran.code, stderr: ran.stderr, text: ran.stdout };
  }
  const statuses = (text: string) => {
    const { rules } = JSON.parse(text) as { rules: readonly { rule: string; status: string }[] };
    return rules.map(({ rule, status }) => `${rule} ${status}`);
  };
  const pinnedIn = (text: string) => {
    const document = JSON.parse(text) as Document;
    return (document.entries ?? document.hsm_entries)?.[0]?.signer_fingerprint ?? "";
  };
  const open = ["V4 not_covered", "V5 not_covered", "V6 not_covered", "V7 passed"];

  test("LED-4: the shell verifies its own document, and says which rule an edited one breaks", async () => {
    const plain = await exported();
    const passed = await verified(plain, pinnedIn(plain));
    expect([passed.code, passed.stderr]).toEqual([0, ""]);
    expect(statuses(passed.text)).toEqual(
      ["V1 passed", "V2 passed", "V3 passed"].concat(open, "V8 not_covered", "V9 partly"),
    );
    const edited = plain.replace('"result":"success"', '"result":"error"');
    const refused = await verified(edited, pinnedIn(plain));
    expect(refused.code).toBe(1);
    expect(statuses(refused.text).slice(0, 2)).toEqual(["V1 violated", "V2 not_judged"]);
    expect(refused.text).toContain("its hash does not recompute");
    const other = await verified(plain, "0".repeat(64));
    expect([other.code, statuses(other.text)[1]]).toEqual([1, "V2 violated"]);
    expect(other.text).toContain("not the pinned one");
    expect((await verified(plain.slice(0, -20), pinnedIn(plain))).stderr).toContain(
      "is no ledger document",
    );
  });

  test("LED-4: every artefact of the combined document is found to be what was signed", async () => {
    const text = await exported("--combined");
    const passed = await verified(text, pinnedIn(text));
    expect([passed.code, passed.stderr]).toEqual([0, ""]);
    expect(statuses(passed.text)).toEqual(
      ["V1 passed", "V2 passed", "V3 passed", "V4 passed", "V5 passed"].concat(
        expect.stringMatching(/^V6 (passed|partly)$/),
        ["V7 passed", "V8 partly", "V9 partly"],
      ),
    );
    const edited = text.replace('"user_sub":"local:', '"user_sub":"other:');
    expect(edited).not.toBe(text);
    const refused = await verified(edited, pinnedIn(text));
    expect(refused.code).toBe(1);
    expect(statuses(refused.text)[1]).toBe("V2 violated");
    const file = saved(instance.home, "to-verify.json", edited);
    const told = await instance.cli("hsm", "verify-log", file, "--key", pinnedIn(text));
    expect(told.stdout).toMatch(/^V1 +passed /m);
    expect(told.stderr).toContain("V2 is violated: the signature of the document does not verify");
  });

  test("LED-4: of a part it says what lies before it, and passes nothing it does not see", async () => {
    const whole = await exported();
    const head = String((JSON.parse(whole) as Document).last_number);
    const passed = await verified(await exported("--combined", "--from", head), pinnedIn(whole));
    expect([passed.code, passed.stderr]).toEqual([0, ""]);
    expect(statuses(passed.text)).toContain("V9 partly");
  });
});

test("a part of it has the link to what comes before, and a part that holds nothing is refused", async () => {
  const whole = JSON.parse(await exported()) as Document;
  const text = await exported("--from", "3", "--to", "5");
  const part = JSON.parse(text) as Document;
  expect(part.entries?.map(({ number }) => number)).toEqual([3, 4, 5]);
  expect(part.first_prev_hash).toBe(whole.entries?.[1]?.hash ?? "");
  expect(part.last_hash).toBe(whole.entries?.[4]?.hash ?? "");
  expect(await opensslSays(text)).toBe("Signature Verified Successfully");
  const refused = await instance.cli("hsm", "log", "--from", "999999");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("from_number");
});

/**
 * TBS and signature of what an operation carries: certificates, requests and lists are signed
 * alike.
 */
function signedParts({ certificate, artifact_der }: Operation) {
  const der = certificate
    ? new Uint8Array(new X509Certificate(certificate).raw)
    : Uint8Array.fromBase64(artifact_der ?? "");
  return parts(der);
}

/** SEQUENCE { tbs, algorithm, BIT STRING }. */
function parts(der: Uint8Array) {
  const outer = element(der, 0);
  const tbs = element(der, outer.content);
  const algorithm = element(der, tbs.end);
  const bits = element(der, algorithm.end);
  return {
    tbs: der.slice(outer.content, tbs.end),
    // The first octet counts unused bits.
    signature: der.slice(bits.content + 1, bits.end),
  };
}

function element(der: Uint8Array, at: number) {
  const short = der[at + 1] ?? 0;
  if (short < 0x80) return { content: at + 2, end: at + 2 + short };
  const size = short & 0x7f;
  const length = Buffer.from(der.slice(at + 2, at + 2 + size)).readUIntBE(0, size);
  return { content: at + 2 + size, end: at + 2 + size + length };
}

/** The spelling of a fingerprint a ledger uses, whatever it is. */
function fingerprintLike(name: string, spki: Buffer): string {
  const digest = createHash("sha256").update(spki);
  if (!name.startsWith("SHA256:")) return digest.digest("hex");
  return `SHA256:${digest.digest("base64").replaceAll("=", "")}`;
}

const verifier = (certificate: X509Certificate) => (tbs: Uint8Array, signature: Uint8Array) =>
  verifySignature("sha256", tbs, certificate.publicKey, signature);
