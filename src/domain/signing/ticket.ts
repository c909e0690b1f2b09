/** The licence to make one signature; made in this folder and nowhere else. */

import type { KeyRole, SignPurpose } from "#core/audit/ledger.ts";
import type { CaId } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import type { KeyRef } from "#domain/key-ref.ts";

/** What a ticket says. */
export interface TicketFacts {
  readonly opId: string;
  readonly key: KeyRef;
  readonly role: KeyRole;
  readonly algorithm: SignatureName;
  /** Lower hex SHA-256 of the octets to be signed. */
  readonly digest: string;
  /** `document`: what the ledger key vouches for, which is no entry of the ledger. */
  readonly purpose: SignPurpose | "document";
  readonly caId: CaId | undefined;
}

const maker: unique symbol = Symbol("domain/signing");

/**
 * The licence to make exactly one signature over exactly these octets. Of a CA key there is one
 * once the intent is durable (`signing.ts`); of counted keys (`counted.ts`) and of the ledger key
 * (`document.ts`) there are others, for nothing a CA key could be asked for. Nobody else can write
 * the symbol its constructor wants, and neither a literal nor a changed copy is one.
 */
export class SignTicket implements TicketFacts {
  readonly #maker: typeof maker;
  readonly opId: string;
  readonly key: KeyRef;
  readonly role: KeyRole;
  readonly algorithm: SignatureName;
  readonly digest: string;
  readonly purpose: SignPurpose | "document";
  readonly caId: CaId | undefined;

  constructor(proof: typeof maker, facts: TicketFacts) {
    assert(proof === maker, "tickets are made by domain/signing");
    this.#maker = proof;
    this.opId = facts.opId;
    this.key = facts.key;
    this.role = facts.role;
    this.algorithm = facts.algorithm;
    this.digest = facts.digest;
    this.purpose = facts.purpose;
    this.caId = facts.caId;
  }

  /** True for what was made here, whatever a type may claim. */
  static isGenuine(ticket: SignTicket): boolean {
    return #maker in ticket && ticket.#maker === maker;
  }
}

/** Makes a ticket: the dependency rules let nobody outside this folder call it. */
export const ticketOf = (facts: TicketFacts): SignTicket => new SignTicket(maker, facts);
