/**
 * Walks the audit chain once, oldest event first: its links, and what events say of certificates,
 * revocations, lists and approvals against what is stored (REV-6).
 */

import { effectActions } from "#core/approvals/effects.ts";
import { type AuditEvent, violation } from "#core/audit/chain.ts";
import { detailValues } from "#core/audit/detail.ts";
import { parseTimestamp } from "#core/time.ts";

import {
  certificateText,
  entryText,
  grantText,
  prunedText,
  releaseText,
  tokenText,
} from "./told-texts.ts";
import type { KeySet } from "./key-set.ts";
import type { Proofs } from "./proofs.ts";

/** What is stored when the walk begins. */
export interface EventPremises {
  readonly proofs: Proofs;
  /** The event before the first one; sequence 0 for the whole chain. */
  readonly before: { readonly seq: number; readonly hash: string };
  /** `certificateText` of each certificate. */
  readonly certificates: Pick<KeySet, "mark">;
  /** `prunedText` of each certificate that retention has left a tombstone of. */
  readonly pruned: KeySet;
  /** `entryText` and `releaseText` of each change that the store remembers. */
  readonly changes: KeySet;
  /** SHA-256 of a stored list by its name; undefined where none is stored. */
  readonly listDigest: (caId: string, scope: string, number: number) => string | undefined;
}

/** One walk. */
export class EventWalk {
  /** How often each approved operation was done. */
  readonly effects = new Map<string, number>();
  /** Lists whose event was met. */
  readonly lists = new Set<string>();
  /** CAs that were deleted. */
  readonly deleted = new Set<string>();
  /** Rights that were given: what a token or a grant must have been told to be. */
  readonly rights = new Map<string, "given" | "ended">();
  /** The least number of the revocation sequence that was met. */
  leastChange = Number.POSITIVE_INFINITY;
  greatestChange = 0;
  /** The greatest of each CA. */
  readonly lastChanges = new Map<string, number>();
  readonly #premises: EventPremises;
  /** Changes that the store no longer remembers, until a later one of the serial explains it. */
  readonly #undone = new Map<string, number>();
  readonly #numbers = new Map<string, number>();
  #end: { seq: number; hash: string };

  constructor(premises: EventPremises) {
    this.#premises = premises;
    this.#end = premises.before;
  }

  get end() {
    return this.#end;
  }

  /** The next event. */
  take(event: AuditEvent): void {
    const { audit } = this.#premises.proofs;
    audit.checked += 1;
    const fault = violation(this.#end, event);
    if (fault !== undefined) audit.violated(faultText[fault](this.#end.seq + 1, event.seq));
    this.#end = { seq: event.seq, hash: event.hash };
    if (event.result !== "success") return;
    const detail = detailValues(event.detail);
    const approval = detail.get("approval");
    if (approval !== undefined && isEffect(event.action)) {
      this.effects.set(approval, (this.effects.get(approval) ?? 0) + 1);
    }
    if (issuing.has(event.action)) this.#issued(event, detail);
    else if (changing.has(event.action)) this.#changed(event, detail);
    else if (event.action === "crl.publish") this.#published(event, detail);
    else if (rightsTold.has(event.action)) this.#toldRights(event, detail);
    else if (event.action === "ca.delete") this.deleted.add(event.caId);
    else if (event.action === "system.accept_rollback") this.#applyJump(detail);
  }

  /** After the last event. */
  finish(): void {
    const { revocations } = this.#premises.proofs;
    for (const [name, seq] of this.#undone) {
      const [caId, serial] = name.split("|");
      revocations.violated(
        `Event ${seq} changed serial ${serial} of CA ${caId}, and the store says otherwise.`,
      );
    }
  }

  #issued(
    { seq, action, tenant, caId, serial }: AuditEvent,
    detail: ReadonlyMap<string, string>,
  ): void {
    const { proofs, certificates, pruned } = this.#premises;
    const digest = detail.get("sha256");
    // A rotation that only names the new CA, and older releases, bind no octets.
    if (digest === undefined) return;
    // An imported CA certificate has an event of the same name as a leaf, and no profile.
    const leaf = action === "cert.import" ? detail.has("profile") : action.startsWith("cert.");
    const facts = leaf ? { profile: detail.get("profile") ?? "", tenant } : undefined;
    const found = certificates.mark(certificateText(digest, facts));
    if (found === "absent" && pruned.has(prunedText(caId, serial))) {
      proofs.inventory.noted("events of pruned certificates, unproven");
    } else if (found === "absent") {
      proofs.inventory.violated(
        `Event ${seq} (${action}) tells of a certificate that is nowhere, or another.`,
      );
    } else if (found === "again") {
      proofs.inventory.violated(`Event ${seq} (${action}) tells of a certificate a second time.`);
    }
  }

  /** An accepted rollback raises the revocation sequence without a revocation. */
  #applyJump(detail: ReadonlyMap<string, string>): void {
    const sequence = Number(detail.get("sequence") ?? 0);
    this.greatestChange = Math.max(this.greatestChange, sequence);
  }

  #changed(event: AuditEvent, detail: ReadonlyMap<string, string>): void {
    const { proofs, changes } = this.#premises;
    const { caId, serial, seq, action } = event;
    const sequence = Number(detail.get("sequence"));
    proofs.revocations.checked += 1;
    if (!Number.isSafeInteger(sequence)) {
      proofs.revocations.noted("events of older releases name no sequence number");
      return;
    }
    this.leastChange = Math.min(this.leastChange, sequence);
    this.greatestChange = Math.max(this.greatestChange, sequence);
    this.lastChanges.set(caId, Math.max(sequence, this.lastChanges.get(caId) ?? 0));
    const name = `${caId}|${serial}`;
    this.#undone.delete(name);
    const at = parseTimestamp(detail.get("revoked_at") ?? event.timestamp) ?? 0;
    const since = parseTimestamp(detail.get("held_since") ?? "") ?? 0;
    const reason = detail.get("reason") ?? "";
    const text =
      action === "cert.release"
        ? releaseText(caId, serial, { sequence, since })
        : entryText(caId, serial, { sequence, reason, at });
    const found = changes.mark(text);
    if (found === "absent") this.#undone.set(name, seq);
    if (found === "again") {
      proofs.revocations.violated(`Event ${seq} tells of change ${sequence} a second time.`);
    }
  }

  #toldRights(
    { action, target, targetName, caId, tenant }: AuditEvent,
    detail: ReadonlyMap<string, string>,
  ): void {
    const text = action.startsWith("token.")
      ? tokenText(target, tenant, detail)
      : grantText(caId, targetName, detail);
    const given = action === "token.create" || action === "resource.grant";
    this.rights.set(text, given ? "given" : "ended");
  }

  #published({ seq, caId, targetName }: AuditEvent, detail: ReadonlyMap<string, string>): void {
    const { proofs, listDigest } = this.#premises;
    const scope = `${caId}|${targetName}`;
    const number = Number(detail.get("number"));
    const kind = detail.get("kind") ?? "";
    const proof = targetName.startsWith("partition-") ? proofs.partitions : proofs.crls;
    // A base and a delta that are made at a time may become visible in either order (CRL-1).
    const last = this.#numbers.get(`${scope}|${kind}`) ?? 0;
    const other = this.#numbers.get(`${scope}|${kind === "base" ? "delta" : "base"}`);
    if (!(number > last) || number === other) {
      const before = number === other ? other : last;
      proof.violated(`Event ${seq}: CRL number ${number} of ${targetName} follows ${before}.`);
    }
    this.#numbers.set(`${scope}|${kind}`, number);
    const stored = listDigest(caId, targetName, number);
    if (stored === undefined) return;
    this.lists.add(`${scope}|${number}`);
    if (stored !== detail.get("sha256")) {
      proof.violated(`CRL ${number} of ${targetName}, CA ${caId}, is not what event ${seq} tells.`);
    }
  }
}

const faultText = {
  gap: (expected: number, found: number) =>
    `Event ${expected} is missing: ${found} stands in its place.`,
  link: (expected: number) => `Event ${expected} does not link to the one before it.`,
  hash: (expected: number) => `Event ${expected} has another hash.`,
};

const issuing: ReadonlySet<string> = new Set([
  "cert.issue",
  "cert.renew",
  "cert.import",
  "ca.init_root",
  "ca.issue_intermediate",
  "ca.cross_sign",
  "ca.rotate",
]);
const changing: ReadonlySet<string> = new Set(["cert.revoke", "cert.suspend", "cert.release"]);

const rightsTold: ReadonlySet<string> = new Set([
  "token.create",
  "token.revoke",
  "resource.grant",
  "resource.revoke",
]);
const effects = new Set<string>(effectActions);
const isEffect = (action: string): boolean => effects.has(action);
