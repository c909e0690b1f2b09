/**
 * Probes one CA: issues a certificate nobody uses, asks for it as relying parties do, and revokes
 * it, by the same verbs that serve everybody else (CAN-1).
 */

import { DerError } from "#core/asn1/cursor.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { caId } from "#core/ids.ts";
import { canaryMarker } from "#core/policy/profiles.ts";
import { assert, Problem, refuse } from "#core/problems.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { judgeAnswer } from "#core/x509/ocsp-verdict.ts";
import type { Origin } from "#domain/actor.ts";
import { activeMember } from "#domain/authorities/resolve.ts";
import { certificatesOf } from "#domain/authorities/signers.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Issuance, Issued } from "#domain/certificates/issue.ts";
import type { Clock, PathWork, Patience, Stopwatch } from "#domain/ports.ts";
import type { CrlPublisher } from "#domain/revocation/crl.ts";
import type { Ocsp } from "#domain/revocation/ocsp.ts";
import type { Revoker } from "#domain/revocation/revoke.ts";
import { fullScope, partitionScope } from "#domain/revocation/scopes.ts";
import type { Store } from "#domain/store.ts";
import { namedOn } from "./lists.ts";
import { type ProbeReport, type Stage, type StageReport, WrongAnswer } from "./stages.ts";

export interface ProbeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly patience: Patience;
  readonly paths: PathWork;
  readonly issuance: Pick<Issuance, "issue">;
  readonly revoker: Pick<Revoker, "revoke">;
  readonly ocsp: Pick<Ocsp, "answer">;
  readonly publisher: Pick<CrlPublisher, "current" | "newest" | "der">;
  /** DER of a request for these names, by a new key that nobody keeps. */
  readonly request: (names: CanaryNames) => Uint8Array;
  /** Signs the lists that are due where no schedule does, else nothing. */
  readonly publishDue: () => Promise<void>;
  readonly pause: (milliseconds: number) => Promise<void>;
  /** Told what is a fault and no refusal; the report says `internal`. */
  readonly onFault: (error: unknown) => void;
}

/** What a canary is called. */
export interface CanaryNames {
  readonly commonName: string;
  readonly dnsName: string;
}

export interface ProbeOrder {
  readonly origin: Origin;
  /** Id or label of the CA; a superseded one means the active one of its lineage. */
  readonly reference: string;
  readonly profile: string;
  /** For all stages together. */
  readonly timeoutSeconds: number;
  /** True once no further stage may begin. */
  readonly halted: () => boolean;
}

/**
 * Goes through the stages until one fails or all are done. A certificate that was issued is revoked
 * whatever became of the probe, also one that comes after its time. Whatever is wrong is in the
 * report, which is undefined for a probe that was halted. Takes at most `timeoutSeconds`, and ten
 * more where a certificate has to be revoked still.
 */
export const probe = (deps: ProbeDeps, order: ProbeOrder): Promise<ProbeReport | undefined> =>
  new Probe(deps, order).run();

class Probe {
  readonly #deps: ProbeDeps;
  readonly #order: ProbeOrder;
  readonly #begunMs: number;
  readonly #stages: StageReport[] = [];
  #ca: CaRecord | undefined;
  #issued: Issued | undefined;
  /** True when nobody waits for a stage any more. */
  #over = false;

  constructor(deps: ProbeDeps, order: ProbeOrder) {
    this.#deps = deps;
    this.#order = order;
    this.#begunMs = deps.stopwatch.elapsedMs();
  }

  async run(): Promise<ProbeReport | undefined> {
    try {
      const ca = await this.#at("resolve", () => this.#resolve());
      const leaf = await this.#at("issue", () => this.#issue(ca));
      await this.#at("chain", () => this.#chain(leaf));
      await this.#at("ocsp_good", () => this.#ocsp(leaf, "good"));
      await this.#at("crl", () => this.#crl(leaf));
      await this.#at("revoke", () => this.#revoke(leaf.issued));
      await this.#at("ocsp_revoked", () => this.#ocsp(leaf, "revoked"));
      await this.#at("delta", () => this.#delta(leaf));
      return this.#report(undefined);
    } catch (error) {
      this.#over = true;
      await this.#withdraw();
      if (error instanceof Halted) return undefined;
      if (!(error instanceof StageFailed)) throw error;
      return this.#report(error);
    }
  }

  #report(failure: StageFailed | undefined): ProbeReport {
    return {
      reference: this.#order.reference,
      ca: this.#ca,
      serial: this.#issued?.serial,
      result: failure === undefined ? "success" : "error",
      stage: failure?.stage,
      reason: failure?.reason,
      milliseconds: this.#since(this.#begunMs),
      stages: this.#stages,
    };
  }

  /** Does a stage in what is left of the time; throws `StageFailed` with its name. */
  async #at<T extends object>(stage: Stage, work: () => Promise<T>): Promise<T> {
    const { patience, stopwatch } = this.#deps;
    if (this.#order.halted()) throw new Halted();
    const begun = stopwatch.elapsedMs();
    const left = this.#order.timeoutSeconds - (begun - this.#begunMs) / 1000;
    const outcome = left > 0 ? await patience.within(left, this.#tried(work)) : undefined;
    const done = outcome !== undefined && "value" in outcome;
    const result = done ? "success" : "error";
    this.#stages.push({ stage, milliseconds: this.#since(begun), result });
    if (done) return outcome.value;
    throw new StageFailed(stage, outcome?.reason ?? "timeout");
  }

  async #tried<T>(
    work: () => Promise<T>,
  ): Promise<{ readonly value: T } | { readonly reason: string }> {
    try {
      return { value: await work() };
    } catch (error) {
      if (error instanceof Halted) throw error;
      return { reason: this.#reasonOf(error) };
    }
  }

  #reasonOf(error: unknown): string {
    if (error instanceof Problem) return error.code;
    if (error instanceof WrongAnswer) return error.message;
    if (error instanceof DerError) return `malformed: ${error.message}`;
    this.#deps.onFault(error);
    return "internal";
  }

  #since(ms: number): number {
    return Math.max(0, Math.round(this.#deps.stopwatch.elapsedMs() - ms));
  }

  /** Refuses `not_found`, and `ca_not_active` where no member of the lineage is. */
  async #resolve(): Promise<CaRecord> {
    const { reference } = this.#order;
    const { cas } = this.#deps.store.read;
    const named = (await cas.byId(caId(reference))) ?? (await cas.byLabel(reference));
    if (named === undefined || named.internal) throw refuse("not_found");
    this.#ca = named;
    this.#ca = await activeMember(cas, named);
    return this.#ca;
  }

  async #issue(ca: CaRecord): Promise<Leaf> {
    const { issuance, request } = this.#deps;
    const { origin, profile } = this.#order;
    const issued = await issuance.issue(origin, ca, {
      csr: request(names),
      profile,
      validityDays: undefined,
      mustStaple: undefined,
      // As for people: a profile that wants an approval is not passed by.
      caller: "interactive",
      marker: canaryMarker,
    });
    this.#issued = issued;
    // It came too late for this probe, and must not stay.
    if (this.#over) await this.#withdraw();
    const signer = await this.#signerOf(issued);
    this.#ca = signer;
    assert(signer.certificate !== undefined, "what has signed has a certificate");
    return { issued, signer, issuer: parseCertificate(signer.certificate) };
  }

  async #signerOf({ caId: id }: Issued): Promise<CaRecord> {
    const signer = await this.#deps.store.read.cas.byId(id);
    assert(signer !== undefined, "what was issued has a CA");
    return signer;
  }

  /** What the answer carried, and nothing else, leads to the top of the CA's path. */
  async #chain({ issued, signer }: Leaf): Promise<object> {
    const { store, paths, clock } = this.#deps;
    const asker = { home: signer.tenant, name: canaryMarker };
    const now = clock.now();
    const anchor = (await certificatesOf(store.read.cas, signer)).at(-1);
    const [certificate, intermediates] = [pemOf(issued.certificate), issued.intermediates];
    const pems = intermediates.map(pemOf);
    const search = {
      kind: "find",
      certificate,
      intermediates: pems,
      own: [],
      anchor,
      now,
    } as const;
    const found = readable(await paths.ask(search, asker));
    if (!found.built) throw new WrongAnswer("its chain leads to no root");
    const path = found.path.map(({ der }) => der);
    const review = { kind: "judge", path, built: true, anchor, revocation: [], now } as const;
    const { checks } = readable(await paths.ask(review, asker));
    const wrong = checks.find(({ status }) => status === "fail");
    if (wrong !== undefined) throw new WrongAnswer(`${wrong.name}: ${wrong.detail ?? ""}`);
    return found;
  }

  /** Asked without a nonce: the first answer is kept, and the revocation must get past that. */
  async #ocsp({ issued, signer, issuer }: Leaf, expected: "good" | "revoked"): Promise<object> {
    const { serial } = issued;
    const question = encodeOcspRequest({
      issuerName: issuer.subject.der,
      issuerSpki: issuer.spki,
      serial,
      nonce: undefined,
      // RFC 5019 §2.1.1: SHA-1 here names a key, it protects nothing.
      hash: "sha1",
    });
    const { der } = await this.#deps.ocsp.answer(signer.id, question);
    const now = this.#deps.clock.now();
    const verdict = judgeAnswer(der, { issuer, serial, nonce: undefined, now });
    if (!verdict.trusted) throw new WrongAnswer(`${verdict.status}: ${verdict.fault ?? ""}`);
    if (verdict.status !== expected) throw new WrongAnswer(`the answer says ${verdict.status}`);
    return verdict;
  }

  async #crl(leaf: Leaf): Promise<object> {
    const { publisher } = this.#deps;
    const head = await publisher.current(leaf.signer, scopeOf(leaf.issued));
    if (await this.#named(leaf, head)) throw new WrongAnswer("the list names it already");
    return head;
  }

  async #revoke({ caId: id, serial }: Pick<Issued, "caId" | "serial">): Promise<object> {
    const { store, revoker } = this.#deps;
    const ca = await store.read.cas.byId(id);
    assert(ca !== undefined, "what was issued has a CA");
    const asked = { ca, serial, origin: this.#order.origin, mayManageCa: false };
    return await revoker.revoke(asked, "cessationOfOperation");
  }

  /** Waits for the newest list to cover the revocation, delta or base; it must name it then. */
  async #delta(leaf: Leaf): Promise<object> {
    const { publisher, store, publishDue, pause } = this.#deps;
    const { signer, issued } = leaf;
    const { revocations } = store.read;
    const entry = await revocations.bySerial(signer.id, issued.serial);
    assert(entry !== undefined, "what was revoked is in the table");
    while (!this.#over) {
      // When the instance stops, the schedule that signs lists has stopped before.
      if (this.#order.halted()) throw new Halted();
      await publishDue();
      const { base, delta } = await publisher.newest(signer.id, scopeOf(issued));
      const newest = delta ?? base;
      if (newest !== undefined && newest.sequence >= entry.sequence) {
        // A base that has it already is followed by a delta that need not repeat it.
        for (const list of [delta, base]) {
          if (list !== undefined && (await this.#named(leaf, list)) !== false) return list;
        }
        throw new WrongAnswer("the newest list does not name it");
      }
      await pause(lookMs);
    }
    throw new WrongAnswer("timeout");
  }

  #named({ issued, issuer }: Leaf, head: Parameters<typeof namedOn>[1]) {
    const { publisher, clock } = this.#deps;
    return namedOn(publisher, head, { issuer, serial: issued.serial, now: clock.now() });
  }

  /** Revokes what was issued; whatever failed, it must not stay good. */
  async #withdraw(): Promise<void> {
    const issued = this.#issued;
    if (issued === undefined) return;
    const { patience, onFault } = this.#deps;
    try {
      const revoked = await patience.within(withdrawSeconds, this.#revoke(issued));
      if (revoked === undefined) onFault(new Error(`canary ${issued.serial} is not revoked yet`));
    } catch (error) {
      // Its profile lets it end soon; the probe has failed already, and says at which stage.
      onFault(error);
    }
  }
}

/** What was issued, and the CA that did. */
interface Leaf {
  readonly issued: Issued;
  readonly signer: CaRecord;
  readonly issuer: ParsedCertificate;
}

/** Ends a probe at a stage. */
class StageFailed extends Error {
  readonly stage: Stage;
  readonly reason: string;

  constructor(stage: Stage, reason: string) {
    super(`${stage}: ${reason}`);
    this.stage = stage;
    this.reason = reason;
  }
}

class Halted extends Error {}

/** An answer about certificates of our own: they can be read, and judging them takes no time. */
function readable<A extends object>(
  answer: A | { readonly unreadable: string } | undefined,
): Exclude<A, { readonly unreadable: string }> {
  if (answer === undefined) throw new WrongAnswer("judging the chain takes too long");
  if ("unreadable" in answer) throw new WrongAnswer(`malformed: ${answer.unreadable}`);
  return answer as Exclude<A, { readonly unreadable: string }>; // By the line above.
}

/** The list its distribution point names. */
const scopeOf = ({ record }: Issued): string =>
  record.crlPartition === undefined ? fullScope : partitionScope(record.crlPartition);

const pemOf = (der: Uint8Array): string => encodePem("CERTIFICATE", der);

/** RFC 6761 §6.4: a name that can belong to nobody. */
const names: CanaryNames = { commonName: "pkid-canary", dnsName: "pkid-canary.invalid" };
const lookMs = 100;
const withdrawSeconds = 10;
