/**
 * What preflight asks of key providers and keys: do they answer, do they sign, could they leave, do
 * they open.
 */

import {
  failed,
  type Finding,
  gathered,
  passed,
  skipped,
  warned,
} from "#core/preflight/finding.ts";
import { systemPrincipal } from "#core/access/principal.ts";
import { detailValues } from "#core/audit/detail.ts";
import { equalInConstantTime } from "#core/crypto.ts";
import { Problem } from "#core/problems.ts";
import { secondsPerDay } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import type { PageKey } from "#domain/page.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { halfOf, unwrapHybrid, wrapHybrid } from "#domain/envelopes/hybrid.ts";
import { hasItsHalf } from "#domain/envelopes/keks.ts";
import type { KekVersion } from "#domain/envelopes/store.ts";
import { keyInventory } from "#domain/authorities/key-inventory.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import type { Store } from "#domain/store.ts";
import type { Part } from "./part.ts";
import { type SelfTestDeps, selfTest, type TestedKey } from "./self-test.ts";

/**
 * Whether the provider of a role answers; `fault` is why the providers could not be opened at all.
 */
export async function providerAnswers(
  keys: Pick<SelfTestDeps["keys"], "facts">,
  provider: ProviderName,
): Promise<Finding> {
  const facts = (await keys.facts()).find((one) => one.provider === provider);
  if (facts === undefined) return warned(`The provider ${provider} has no probe.`);
  if (!facts.available) return failed(`${provider}: ${facts.error ?? "It does not answer."}`);
  const device = [facts.manufacturer, facts.model, facts.deviceSerial].filter(Boolean).join(" ");
  return passed(`${provider} answers (${device}).`);
}

/**
 * KEY-6: every CA that signs now or waits for its certificate.
 *
 * @param untried providers that a drill could not open; their keys are named
 */
export async function caKeysSign(
  deps: SelfTestDeps,
  untried: readonly ProviderName[] = [],
): Promise<Finding> {
  const findings: Finding[] = [];
  let tested = 0;
  for (const ca of await everyCa(deps.store)) {
    const keys: readonly TestedKey[] = ca.alternative ? [ca, ca.alternative] : [ca];
    for (const key of keys) {
      const { provider } = key.key;
      if (untried.includes(provider)) {
        findings.push(
          warned(`The key of ${ca.label} was not tried: ${provider} is not configured.`),
        );
        continue;
      }
      tested += 1;
      const wrong = (await wrongWith(deps, ca, key)) ?? mismatch(ca);
      if (wrong !== undefined) findings.push(failed(`The key of ${ca.label}: ${wrong}.`));
    }
  }
  return gathered(findings, `${tested} CA keys signed, and their signatures verify.`);
}

/**
 * What keeps the keys of a CA from signing, without having them sign: undefined where each is in
 * its provider, and is the one of the record.
 */
export async function keyFault(
  keys: Part<Pick<Keys, "find">>,
  ca: Pick<CaRecord, "key" | "spki" | "alternative">,
): Promise<string | undefined> {
  if ("fault" in keys) return keys.fault.replace(/\.$/, "");
  for (const { key, spki } of [ca, ...(ca.alternative ? [ca.alternative] : [])]) {
    try {
      const handle = await keys.open.find(key);
      if (!Buffer.from(handle.spki).equals(spki)) {
        return "the provider holds another key under its name";
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return `${error.message.replace(/\.$/, "")} (${error.code})`;
    }
  }
  return undefined;
}

async function wrongWith(
  deps: SelfTestDeps,
  ca: CaRecord,
  key: TestedKey,
): Promise<string | undefined> {
  try {
    return await selfTest(deps, ca.id, key);
  } catch (error) {
    if (error instanceof Problem) return `${error.message.replace(/\.$/, "")} (${error.code})`;
    throw error;
  }
}

function mismatch({ certificate, spki }: CaRecord): string | undefined {
  if (certificate === undefined) return undefined;
  const same = Buffer.from(parseCertificate(certificate).spki).equals(spki);
  return same ? undefined : "its certificate is for another key";
}

/** Keys of CAs that could leave their provider, and those no hardware protects. */
export async function keysStay(
  deps: Pick<SelfTestDeps, "store" | "keys">,
  providers: readonly ProviderName[],
): Promise<Finding> {
  const internal = new Set(
    (await deps.store.read.cas.signing()).filter((ca) => ca.internal).map(({ id }) => id),
  );
  const all = await keyInventory(deps, providers);
  const findings = all.flatMap(({ role, bound, label, provider, ca, ...key }) => {
    if (key.extractable || !key.sensitive) {
      return bound ? [failed(`The key ${label} (${provider}) could leave its provider.`)] : [];
    }
    // The internal serving CA is software-held by definition (CFG-11).
    const soft = role === "ca" && provider === "software" && ca !== undefined;
    return soft && !internal.has(ca.id)
      ? [warned(`The key of ${ca.label} is held in software.`)]
      : [];
  });
  return gathered(findings, `None of ${all.length} keys could leave its provider.`);
}

/** The delegated responder of every CA that still answers for its certificates. */
export async function respondersFit(deps: SelfTestDeps, delegated: boolean): Promise<Finding> {
  if (!delegated) return skipped("CAs sign OCSP answers themselves (`ocsp.delegated`).");
  const { store, keys, clock } = deps;
  const now = clock.now();
  const findings: Finding[] = [];
  for (const ca of await store.read.cas.signing()) {
    if (ca.internal || ca.notAfter === undefined || ca.notAfter < now) continue;
    const responder = await store.read.revocations.responder(ca.id);
    const of = `The responder of ${ca.label}`;
    if (responder === undefined) {
      const reasons = await failureOf(store, ca);
      findings.push(
        reasons === undefined
          ? warned(`${of} is not made yet; a running server makes it.`)
          : failed(`${of} could not be made (${reasons}); its OCSP says tryLater.`),
      );
      continue;
    }
    const { keyProvider: provider, keyLabel: label, keyId: id, notBefore, notAfter } = responder;
    if (notAfter <= now) findings.push(failed(`${of} has expired.`));
    else if (now > (notBefore + notAfter) / 2)
      findings.push(warned(`${of} is past half of its life.`));
    try {
      const handle = await keys.find({ provider, label, id });
      const certified = parseCertificate(responder.certificate).spki;
      if (!Buffer.from(handle.spki).equals(certified))
        findings.push(failed(`${of} has another key.`));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      findings.push(failed(`${of}: its key is not there (${error.code}).`));
    }
  }
  return gathered(findings, "Every responder has its key and a valid certificate.");
}

/**
 * Why the responder could not be made when that was tried last, as its event says; undefined when
 * it never failed.
 */
async function failureOf(
  { read }: Pick<Store, "read">,
  { id }: CaRecord,
): Promise<string | undefined> {
  const actor = systemPrincipal("ocsp").subject;
  const filter = { reach: "platform", caId: id, action: "cert.issue", actor } as const;
  const [newest] = (await read.audit.events(filter, 1)).items;
  return newest && (detailValues(newest.detail).get("reasons") ?? newest.result);
}

/** Every version that may still open something, by a value wrapped and unwrapped with it. */
export async function keksOpen({ store, keys, clock, random }: SelfTestDeps): Promise<Finding> {
  const versions = await store.read.envelopes.versions();
  const inUse = versions.filter(({ status }) => status !== "retired");
  const findings: Finding[] = [];
  for (const { version, key, status } of inUse) {
    const value = random.bytes(32);
    try {
      const opened = await keys.keks.unwrap(key, await keys.keks.wrap(key, value));
      if (!equalInConstantTime(opened, value))
        findings.push(failed(`Version ${version} opens wrongly.`));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      findings.push(failed(`Version ${version} does not open (${error.code}).`));
    }
    // It began to retire when the version after it was made.
    const since = versions.find(
      (one) => one.version > version && one.status === "active",
    )?.createdAt;
    const days = since === undefined ? 0 : (clock.now() - since) / 1000 / secondsPerDay;
    if (status === "retiring" && days > retiringDaysMax) {
      findings.push(warned(`Version ${version} has been retiring for ${Math.floor(days)} days.`));
    }
  }
  const last = inUse[0];
  if (last === undefined) return skipped("Nothing is sealed yet.");
  return gathered(findings, `${inUse.length} versions open; version ${last.version} seals.`);
}

/**
 * The ML-KEM half of every version in use that was made with one; `on` wants one of the version
 * that seals (KEK-5).
 */
export async function halvesOpen(deps: SelfTestDeps, on: boolean): Promise<Finding> {
  const versions = await deps.store.read.envelopes.versions();
  const findings: Finding[] = [];
  let halves = 0;
  for (const version of versions) {
    if (version.status === "retired") continue;
    const made = (await halfOf(deps.store, version)) !== undefined;
    if (made) halves += 1;
    if (made && !(await halfOpens(deps, version)))
      findings.push(failed(`The ML-KEM half of version ${version.version} is absent or unusable.`));
    if (on && !made && version.status === "active")
      findings.push(failed(`Version ${version.version} seals without an ML-KEM half.`));
  }
  if (halves === 0 && findings.length === 0) {
    return skipped(on ? "Nothing is sealed yet." : "Off (`secret.pqc_hybrid`).");
  }
  return gathered(findings, "What is sealed with an ML-KEM half opens with it.");
}

async function halfOpens(deps: SelfTestDeps, version: KekVersion): Promise<boolean> {
  const { keys, random } = deps;
  const value = random.bytes(32);
  try {
    if (!(await hasItsHalf(deps, version))) return false;
    const header = await wrapHybrid(keys, version, { dek: value, random });
    return equalInConstantTime(await unwrapHybrid(keys, version, header), value);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return false;
  }
}

/** Those that sign, the internal one among them, and those that wait for their certificate. */
export async function everyCa(store: Pick<Store, "read">): Promise<readonly CaRecord[]> {
  const all = [...(await store.read.cas.signing())];
  let after: PageKey | undefined;
  do {
    const filter = { reach: "platform", status: "pending" } as const;
    const page = await store.read.cas.page(filter, pageRows, after);
    all.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return all;
}

const pageRows = 500;
const retiringDaysMax = 30;

/** The token that `pkcs11.uri` selects is there; `wrong` is what is wrong with the setting. */
export async function tokenFound(
  wrong: readonly string[],
  selected: boolean,
  keys: Part<Keys>,
): Promise<Finding> {
  if (wrong.length > 0) return failed(wrong.join(" "));
  if (!selected) return skipped("No token is selected by a URI.");
  if ("fault" in keys) return warned(`No token was found by the URI: ${keys.fault}`);
  const token = (await keys.open.facts()).find(({ provider }) => provider === "pkcs11");
  return token?.available === true
    ? passed("The URI selects a token.")
    : warned("No token was found by the URI.");
}
