/** WHAT `pkid verify` PROVES, and how one proof is told: what it looked at, and what is wrong. */

/** Columns: what is proven, what is counted. A row is a line of the report, in this order. */
// biome-ignore format: the table is read by column.
export const proofs = {
  archive:     { says: "Archive: members, digests, signature", counts: "members" },
  schema:      { says: "Schema, references, states",          counts: "rows" },
  audit:       { says: "Audit chain, genesis to head",        counts: "events" },
  ledger:      { says: "Sign ledger, rules V1 V3 V7 V9",      counts: "entries" },
  artefacts:   { says: "Ledger and artefacts, rules V4 to V8", counts: "signatures" },
  signatures:  { says: "Signatures of what is stored",        counts: "signatures" },
  inventory:   { says: "Inventory and its events",            counts: "certificates" },
  serials:     { says: "Serials, unique and 64 bits long",    counts: "serials" },
  revocations: { says: "Revocations and their events",        counts: "changes" },
  crls:        { says: "CRLs and the revocation table",       counts: "entries" },
  partitions:  { says: "CRL partitions",                      counts: "entries" },
  approvals:   { says: "Approvals, once and by distinct people", counts: "requests" },
  rights:      { says: "Tokens and grants, and their events", counts: "rights" },
  sealed:      { says: "Sealed values, well-formed",          counts: "values" },
  running:     { says: "The running server",                  counts: "answers" },
} as const satisfies Record<string, { readonly says: string; readonly counts: string }>;

export type ProofName = keyof typeof proofs;

/** One proof as it is reported. */
export interface ProofResult {
  readonly name: ProofName;
  readonly says: string;
  /** How many of `counts` were looked at. */
  readonly checked: number;
  readonly counts: string;
  readonly violations: number;
  /** Checks that failed because an address did not respond; absent if none. */
  readonly unreachable?: number;
  /** The first of them, a sentence each. */
  readonly first: readonly string[];
  /** What was looked at and could not be proven, or is only to be known. */
  readonly notes: readonly string[];
}

/** What one proof finds, in constant memory however much is wrong. */
export class Proof {
  checked = 0;
  violations = 0;
  unreachable = 0;
  readonly #first: string[] = [];
  readonly #notes = new Map<string, number>();

  constructor(readonly name: ProofName) {}

  /** A sentence that names what is wrong and where. */
  violated(sentence: string): void {
    this.violations += 1;
    if (this.#first.length < firstMax) this.#first.push(sentence);
  }

  /** Counts a check that failed because an address did not respond. */
  addUnreachable(message: string): void {
    this.unreachable += 1;
    if (this.#first.length < firstMax) this.#first.push(message);
  }

  /** So many more of what was named last. */
  alsoViolated(count: number): void {
    this.violations += count;
  }

  /** Counts what cannot be proven, by the words of why. */
  noted(what: string, count = 1): void {
    this.#notes.set(what, (this.#notes.get(what) ?? 0) + count);
  }

  /** Adds what was found elsewhere. */
  take({ checked, violations, first, notes }: ProofFindings): void {
    this.checked += checked;
    this.violations += violations;
    this.#first.push(...first.slice(0, firstMax - this.#first.length));
    for (const [what, count] of notes) this.noted(what, count);
  }

  /** What `take` adds to another. */
  get findings(): ProofFindings {
    const { name, checked, violations } = this;
    return { name, checked, violations, first: this.#first, notes: [...this.#notes] };
  }

  get result(): ProofResult {
    const { says, counts } = proofs[this.name];
    const { name, checked, violations } = this;
    const notes = [...this.#notes].map(([what, count]) => `${count} ${what}`);
    const unreachable = this.unreachable > 0 ? { unreachable: this.unreachable } : {};
    return { name, says, checked, counts, violations, ...unreachable, first: this.#first, notes };
  }
}

/** What a proof found, as it is handed to another thread. */
export interface ProofFindings {
  readonly name: ProofName;
  readonly checked: number;
  readonly violations: number;
  readonly first: readonly string[];
  readonly notes: readonly (readonly [what: string, count: number])[];
}

export type Proofs = Readonly<Record<ProofName, Proof>>;

/** Every proof, with nothing looked at yet. */
export const emptyProofs = (): Proofs => {
  const names = Object.keys(proofs) as ProofName[]; // Its own keys.
  return Object.fromEntries(names.map((name) => [name, new Proof(name)])) as Proofs; // As above.
};

/** Violations that are named; the others are counted. */
const firstMax = 20;
