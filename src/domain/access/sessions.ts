/**
 * Sessions of people: opened at login, known by a digest, ended by logout, by an admin, or by the
 * clock.
 */

import type { Identity } from "#core/access/assignments.ts";
import { isSamePerson, type Person } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import { sha256Hex } from "#core/crypto.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import type { LoginMethod, Session } from "#domain/actor.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { Clock, Random } from "#domain/ports.ts";

export interface NewSession {
  readonly method: LoginMethod;
  readonly principal: Principal;
  readonly identity: Identity | undefined;
  readonly loginName: string;
  readonly ip: string;
  readonly userAgent: string;
}

export interface SessionDeps {
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly ttlSeconds: number;
  /** Most sessions at once; then the oldest makes room. */
  readonly max: number;
}

/** All live sessions of this process; a restart discards them. */
export class Sessions {
  readonly #deps: SessionDeps;
  /** By SHA-256 of the id, oldest first; the ids themselves are kept nowhere. */
  readonly #live = new Map<string, Session>();

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  /** Opens a session under a fresh id, which is given to nobody but the browser. */
  open(login: NewSession): { readonly id: string; readonly session: Session } {
    const { clock, random, ttlSeconds } = this.#deps;
    this.sweep();
    this.#makeRoom(login.principal.person);
    const now = clock.now();
    const id = base64url(random.bytes(32));
    const key = keyOf(id);
    const session: Session = {
      ...login,
      digest: key.slice(0, 32),
      csrfToken: base64url(random.bytes(32)),
      userAgent: login.userAgent.slice(0, userAgentMax),
      createdAt: now,
      lastSeenAt: now,
      expiresAt: addSeconds(now, ttlSeconds),
      stepUpUntil: undefined,
      stepUpBy: undefined,
    };
    this.#live.set(key, session);
    return { id, session };
  }

  /** The live session of this id, seen now; undefined for an unknown or expired one. */
  find(id: string): Session | undefined {
    if (!wellFormed.test(id)) return undefined;
    const key = keyOf(id);
    const known = this.#live.get(key);
    if (known === undefined) return undefined;
    const now = this.#deps.clock.now();
    if (known.expiresAt <= now) {
      this.#live.delete(key);
      return undefined;
    }
    const seen = { ...known, lastSeenAt: now };
    this.#live.set(key, seen);
    return seen;
  }

  /** Ends the session of this digest; gives it, or undefined when there is none. */
  end(digest: string): Session | undefined {
    const entry = this.#entry(digest);
    if (entry === undefined) return undefined;
    this.#live.delete(entry[0]);
    return entry[1];
  }

  /** The live session of this digest. */
  byDigest(digest: string): Session | undefined {
    this.sweep();
    return this.#entry(digest)?.[1];
  }

  /**
   * The session of this digest has confirmed who uses it with a passkey, until then; gives false
   * when it has ended meanwhile.
   */
  stepUp(digest: string, until: Instant, passkey: string): boolean {
    this.sweep();
    const entry = this.#entry(digest);
    if (entry === undefined) return false;
    this.#live.set(entry[0], { ...entry[1], stepUpUntil: until, stepUpBy: passkey });
    return true;
  }

  /** What was confirmed with this passkey, in whichever session, no longer is. */
  endStepUps(passkey: string): void {
    for (const [key, session] of this.#live) {
      if (session.stepUpBy !== passkey) continue;
      this.#live.set(key, { ...session, stepUpUntil: undefined, stepUpBy: undefined });
    }
  }

  /** Newest first, ties broken by digest. */
  page(limit: number, after?: PageKey): Page<Session> {
    this.sweep();
    const all = [...this.#live.values()].sort(newestFirst);
    const rest = after === undefined ? all : all.filter((one) => isAfter(one, after));
    const items = rest.slice(0, limit);
    const last = items.at(-1);
    const more = rest.length > items.length && last !== undefined;
    const next = more ? { at: last.createdAt, id: last.digest } : undefined;
    return { items, next, total: all.length };
  }

  /** Live sessions now. */
  get active(): number {
    this.sweep();
    return this.#live.size;
  }

  /**
   * Puts roles resolved anew into the sessions that came with an identity; one that has lost its
   * last role ends, and one whose roles cannot be told. Gives the digests of those that ended.
   */
  async resolveAgain(
    resolve: (session: Session, identity: Identity) => Promise<Principal>,
  ): Promise<readonly string[]> {
    const ended: string[] = [];
    for (const [key, session] of [...this.#live]) {
      if (session.identity === undefined) continue;
      const principal = await resolved(resolve, session, session.identity);
      const current = this.#live.get(key);
      if (current === undefined) continue;
      if (principal === undefined || lostAll(current.principal, principal)) {
        this.#live.delete(key);
        ended.push(session.digest);
      } else this.#live.set(key, { ...current, principal });
    }
    return ended;
  }

  /** Forgets what has expired. All lives are equally long, so the oldest come first. */
  sweep(): void {
    const now = this.#deps.clock.now();
    for (const [key, { expiresAt }] of this.#live) {
      if (expiresAt > now) return;
      this.#live.delete(key);
    }
  }

  #entry(digest: string): readonly [string, Session] | undefined {
    return [...this.#live].find(([, session]) => session.digest === digest);
  }

  /**
   * Whoever logs in without end displaces his own oldest session first, and nobody else's before
   * all are taken.
   */
  #makeRoom(person: Person): void {
    const own = [...this.#live].filter(([, { principal }]) =>
      isSamePerson(principal.person, person),
    );
    const [oldestOwn] = own;
    if (oldestOwn !== undefined && own.length >= sessionsOfOneMax) this.#live.delete(oldestOwn[0]);
    const [oldest] = this.#live.keys();
    if (oldest !== undefined && this.#live.size >= this.#deps.max) this.#live.delete(oldest);
  }
}

async function resolved(
  resolve: (session: Session, identity: Identity) => Promise<Principal>,
  session: Session,
  identity: Identity,
): Promise<Principal | undefined> {
  try {
    return await resolve(session, identity);
  } catch {
    return undefined; // The store does not answer; a login will find out when it does.
  }
}

const lostAll = (before: Principal, after: Principal): boolean =>
  isRoleless(after) && !isRoleless(before);

const isRoleless = ({ isRoot, roles, tenantRoles }: Principal): boolean =>
  !isRoot && roles.length === 0 && Object.values(tenantRoles).every((own) => own.length === 0);

const newestFirst = (one: Session, other: Session): number =>
  other.createdAt - one.createdAt || (one.digest < other.digest ? 1 : -1);

const isAfter = ({ createdAt, digest }: Session, { at, id }: PageKey): boolean =>
  createdAt < at || (createdAt === at && digest < id);

const keyOf = (id: string): string => sha256Hex(new TextEncoder().encode(id));

const base64url = (bytes: Uint8Array): string =>
  bytes.toBase64({ alphabet: "base64url", omitPadding: true });

/** 32 octets in base64url. */
const wellFormed = /^[A-Za-z0-9_-]{43}$/;
const sessionsOfOneMax = 50;
const userAgentMax = 256;
