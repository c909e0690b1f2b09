/**
 * Everything between a credential and a principal, on a memory store and a clock that stands still.
 */

import type { Assignments } from "#core/access/assignments.ts";
import { Problem } from "#core/problems.ts";
import {
  type Attempts,
  type Authenticate,
  authenticator,
  type BearerCheck,
  mechanisms,
} from "#domain/access/authenticate.ts";
import type { ClientCheck } from "#domain/access/client-certificates.ts";
import { type Directory, DirectoryLogins } from "#domain/access/directory.ts";
import { FairTurns } from "#domain/access/fair-turns.ts";
import { FailedLogins } from "#domain/access/failed-logins.ts";
import { AttemptKeys } from "#domain/access/login-attempt.ts";
import { type LoginDeps, Logins } from "#domain/access/logins.ts";
import { PasswordMemory } from "#domain/access/password-memory.ts";
import type { Authorization, Presented } from "#domain/access/presented.ts";
import { RootAccount } from "#domain/access/root-account.ts";
import { Sessions } from "#domain/access/sessions.ts";
import { ApiTokens } from "#domain/access/tokens.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { seededRandom, type TestClock, testClock } from "#test/support/ports.ts";

export interface AccessWorld {
  readonly store: MemoryStore;
  readonly clock: TestClock;
  readonly sessions: Sessions;
  readonly failures: FailedLogins;
  readonly logins: Logins;
  readonly apiTokens: ApiTokens;
  readonly authenticate: Authenticate;
  readonly directory: DirectoryLogins | undefined;
  /** How often the slow hash ran. */
  readonly checks: () => number;
  /** `method result` of every login told to the metrics. */
  readonly counted: string[];
}

export interface AccessOptions {
  readonly rootBasicAllowed?: boolean;
  readonly bearer?: BearerCheck;
  readonly attempts?: Attempts;
  readonly assignments?: () => Assignments;
  readonly rules?: LoginDeps["rules"];
  /** The queue of those who present passwords; nobody waits without it. */
  readonly turns?: FairTurns;
  /** Who client certificates stand for; nobody when undefined. */
  readonly client?: ClientCheck;
  /** What the directory says; none is asked when undefined. */
  readonly directory?: Directory;
}

/** Root's password is `correct`; sessions live an hour. */
export function accessWorld(requests: AccessOptions = {}): AccessWorld {
  const store = createMemoryStore();
  const clock = testClock();
  const random = seededRandom();
  const counted: string[] = [];
  let checks = 0;
  const keys = new AttemptKeys(random);
  const root = new RootAccount({
    username: "root",
    passwordHash: "hash of correct",
    checkPassword: async (password, hash) => {
      checks += 1;
      return hash === `hash of ${password}`;
    },
    turns: requests.turns ?? unhurried(),
    attempts: keys,
    memory: freshMemory(),
  });
  const sessions = new Sessions({ clock, random, ttlSeconds: 3600, max: 100 });
  const failures = new FailedLogins({ store, clock, windowsMax: 100 });
  const logins = new Logins({
    store,
    clock,
    root,
    sessions,
    failures,
    rules: requests.rules ?? {},
    assignments: requests.assignments ?? (() => ({ subjects: {}, groups: {} })),
    onLogin: (method, result) => counted.push(`${method} ${result}`),
    onLogout: () => counted.push("logout"),
  });
  const apiTokens = new ApiTokens({
    store,
    clock,
    random,
    maxLifetimeDays: 0,
    onVerified: () => {},
  });
  const { rootBasicAllowed = true, bearer } = requests;
  const attempts = requests.attempts ?? { attempt: () => () => {} };
  const onBasic = () => counted.push("ldap success");
  const directory = directoryLogins(requests, { logins, attempts, keys, onBasic });
  const authenticate = authenticator(
    mechanisms({
      root,
      rootBasicAllowed,
      failures,
      apiTokens,
      sessions,
      bearer,
      attempts,
      directory: directory?.principal,
      client: requests.client,
      onBasic: (result) => counted.push(`basic ${result}`),
    }),
  );
  const parts = { store, clock, sessions, failures, logins, apiTokens, authenticate, counted };
  return { directory, ...parts, checks: () => checks };
}

function directoryLogins(
  { directory, turns = unhurried(), rules }: AccessOptions,
  parts: Pick<
    ConstructorParameters<typeof DirectoryLogins>[0],
    "logins" | "attempts" | "keys" | "onBasic"
  >,
): DirectoryLogins | undefined {
  if (directory === undefined) return undefined;
  const allowZeroRole = rules?.ldap?.allowZeroRole ?? false;
  return new DirectoryLogins({
    ...parts,
    directory,
    turns,
    allowZeroRole,
    log: { write: () => {} },
  });
}

/** A queue in which nobody waits, whatever has failed. */
export const unhurried = (): FairTurns => {
  const free = { rate: 1000, burst: 100_000 };
  return new FairTurns({
    limits: {
      atOnce: 1000,
      atOncePerAddress: 1000,
      atOnceStrangers: 1000,
      waitingPerAddress: 1000,
      waitingMax: 1000,
      longestMs: 1000,
      failures: { known: free, address: free, account: free, accountToRevoke: free },
    },
    elapsedMs: () => 0,
    later: () => () => {},
  });
};

/** What is remembered of root's password, under a clock that stands still. */
export const freshMemory = (): PasswordMemory =>
  new PasswordMemory({ elapsedMs: () => 0, later: () => () => {} });

/** Presents this and nothing else. */
export const presenting = (given: Partial<Presented>): Presented => ({
  authorization: undefined,
  cookie: undefined,
  certificate: undefined,
  localUser: undefined,
  ...given,
});

/** A Basic credential. */
export const basic = (name: string, password: string): Authorization => ({
  kind: "basic",
  name,
  password,
});

/** Where test requests come from. */
export const whence = { ip: "192.0.2.7", requestId: "r1" };

/** A browser there. */
export const visitor = { ...whence, userAgent: "Test/1" };

/** The code a promise was refused with; `accepted` when it was not. */
export async function refusalOf(work: Promise<unknown>): Promise<string> {
  const outcome = await work.then(
    () => "accepted",
    (error: unknown) => error,
  );
  return outcome instanceof Problem ? outcome.code : String(outcome);
}
