/**
 * A search in every CA: page after page of them, a few CAs at a time, as far as it is told to go;
 * what it has found is asked for again when it may have changed.
 */

import type { Answers, Questions } from "#api/answers.ts";
import type { QueryChange } from "#web/address.ts";
import { ask, type Credential, type Reply, replied } from "#web/api.ts";
import { type CaPage, caPages } from "#web/ui/ca-pages.ts";
import { type Authority, authoritiesOfDigest, isSought } from "./authorities.ts";

/** A CA that has some, and where it stands in the order of CAs. */
export interface Group {
  readonly at: number;
  readonly ca: Authority;
  readonly answer: Answers["cert.list"];
}

export interface Found {
  /** Newest CA first. */
  readonly groups: readonly Group[];
  /** CAs that have answered, and how many there are; undefined until that is known. */
  readonly looked: number;
  readonly cas: number | undefined;
  /** CAs that are themselves what is looked for, among those that were listed. */
  readonly own: readonly Authority[];
  readonly refused: readonly { readonly ca: Authority; readonly reply: Reply<unknown> }[];
  /** Why the CAs beyond these could not be listed. */
  readonly unlisted: Reply<unknown> | undefined;
  /** `running`, `paused` where it was told to stop, or `over`: no CA is left. */
  readonly state: "running" | "paused" | "over";
}

export const nothingFound: Found = {
  groups: [],
  looked: 0,
  cas: undefined,
  own: [],
  refused: [],
  unlisted: undefined,
  state: "running",
};

interface Asking {
  /** What `cert.list` is asked with, beside the CA. */
  readonly members: QueryChange;
  /** The address, which may mean a CA itself. */
  readonly query: QueryChange;
  readonly tenant: string | undefined;
  readonly credential: Credential;
}

/** While the page shows it. Tells what it knows as it goes, some times a second. */
export class CaSearch {
  readonly #asking: Asking;
  readonly #told: (found: Found) => void;
  readonly #stop = new AbortController();
  readonly #pages: AsyncGenerator<Reply<CaPage>, undefined>;
  readonly #waiting: Authority[] = [];
  #found = nothingFound;
  #listing: Promise<void> | undefined;
  #isListed = false;
  #begun = 0;
  #bound = 0;
  #working = 0;
  readonly #stale = new Map<string, Authority>();
  readonly #renewing = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(asking: Asking, told: (found: Found) => void) {
    this.#asking = asking;
    this.#told = told;
    this.#pages = caPages({ tenant: asking.tenant }, asking.credential, this.#stop.signal);
  }

  /** Looks in so many CAs, or in no more than it has begun with. */
  until(bound: number): void {
    this.#bound = bound;
    while (this.#working < atOnce && this.#begun < bound && !this.#isOver) {
      this.#working++;
      void this.#work();
    }
    this.#soon();
  }

  /** Asks those of these CAs again that are shown; all that are, where none is named. */
  again(ids?: ReadonlySet<string>): void {
    for (const { ca } of this.#found.groups) {
      if (ids === undefined || ids.has(ca.id)) this.#stale.set(ca.id, ca);
    }
    for (let next = this.#nextStale(); next !== undefined; next = this.#nextStale()) {
      void this.#renewFrom(next);
    }
  }

  /** The same of the first groups, unless it is under way: a slow server is not asked for more. */
  poll(groupsMax: number): void {
    if (this.#renewing.size > 0) return;
    this.again(new Set(this.#found.groups.slice(0, groupsMax).map(({ ca }) => ca.id)));
  }

  /** True for a certificate that is shown. */
  shows(caId: string | undefined, serial: string | undefined): boolean {
    const group = this.#found.groups.find(({ ca }) => ca.id === caId);
    return group?.answer.items.some((one) => one.serial === serial) ?? false;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stop.abort();
  }

  get #isOver(): boolean {
    return this.#isListed && this.#waiting.length === 0;
  }

  async #work(): Promise<void> {
    for (let next = await this.#next(); next !== undefined; next = await this.#next()) {
      const { at, ca } = next;
      const reply = await this.#ask(ca);
      if (this.#stop.signal.aborted) return;
      this.#take(at, ca, reply);
    }
    this.#working--;
    this.#soon();
  }

  /** Whoever comes first has the next page listed, and the others wait for it. */
  async #next(): Promise<Omit<Group, "answer"> | undefined> {
    while (this.#begun < this.#bound && this.#waiting.length === 0 && !this.#isListed) {
      this.#listing ??= this.#list();
      await this.#listing;
    }
    const ca = this.#begun < this.#bound ? this.#waiting.shift() : undefined;
    return ca === undefined ? undefined : { at: this.#begun++, ca };
  }

  async #list(): Promise<void> {
    const { value: page } = await this.#pages.next();
    if (this.#stop.signal.aborted || page === undefined) {
      this.#isListed = true;
    } else if (page.kind === "answered") {
      const { items, total, has_more } = page.answer;
      this.#waiting.push(...items);
      this.#isListed = !has_more;
      const own = this.#found.own.concat(await this.#sought(items));
      this.#knows({ cas: total, own });
    } else {
      this.#isListed = true;
      this.#knows({ unlisted: page });
    }
    this.#listing = undefined;
  }

  async #sought(cas: readonly Authority[]): Promise<readonly Authority[]> {
    const { query } = this.#asking;
    const { certificate_sha256: digest } = query;
    const ids =
      typeof digest === "string" ? await authoritiesOfDigest(cas, digest).catch(() => []) : [];
    return cas.filter((ca) => ids.includes(ca.id) || isSought(ca, query));
  }

  async #ask(ca: Authority): Promise<Reply<Answers["cert.list"]>> {
    const { members, credential } = this.#asking;
    const asked: Questions["cert.list"] = { id: ca.id, limit: rowsOfGroup, ...members };
    return replied(ask("cert.list", asked, credential, this.#stop.signal));
  }

  #take(at: number, ca: Authority, reply: Reply<Answers["cert.list"]>): void {
    const { groups, refused, looked } = this.#found;
    if (reply.kind !== "answered") {
      this.#knows({ looked: looked + 1, refused: refused.concat({ ca, reply }) });
    } else if (reply.answer.total === 0) {
      this.#knows({ looked: looked + 1 });
    } else {
      const group: Group = { at, ca, answer: reply.answer };
      const ordered = groups.concat(group).toSorted((one, other) => one.at - other.at);
      this.#knows({ looked: looked + 1, groups: ordered });
    }
  }

  /** None that is asked already: its older answer would take the place of the newer one. */
  #nextStale(): Authority | undefined {
    if (this.#renewing.size >= atOnce) return undefined;
    for (const [id, ca] of this.#stale) if (!this.#renewing.has(id)) return ca;
    return undefined;
  }

  async #renewFrom(first: Authority): Promise<void> {
    for (let ca: Authority | undefined = first; ca !== undefined; ca = this.#nextStale()) {
      this.#stale.delete(ca.id);
      this.#renewing.add(ca.id);
      await this.#renew(ca);
      this.#renewing.delete(ca.id);
    }
  }

  /** An answer stays where it cannot be had anew. */
  async #renew(ca: Authority): Promise<void> {
    const reply = await this.#ask(ca);
    if (this.#stop.signal.aborted || reply.kind !== "answered") return;
    const { answer } = reply;
    const groups = this.#found.groups.flatMap((group) => {
      if (group.ca.id !== ca.id) return [group];
      return answer.total === 0 ? [] : [{ ...group, answer }];
    });
    this.#knows({ groups });
  }

  #knows(change: Partial<Found>): void {
    this.#found = { ...this.#found, ...change };
    this.#soon();
  }

  /** Many answers are told at once: each of them draws the page. */
  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#stop.signal.aborted) return;
      const ended = this.#isOver ? "over" : "paused";
      this.#told({ ...this.#found, state: this.#working > 0 ? "running" : ended });
    }, tellMs);
  }
}

/** So many rows of each CA; the others are one click away. */
const rowsOfGroup = 5;
const atOnce = 4;
const tellMs = 200;
