/** The search for proofs over a store, in a network whose every answer waits for the test. */

import { orderedId } from "#core/ids.ts";
import { Directories } from "#domain/acme/directories.ts";
import type { DueChallenge } from "#domain/acme/store.ts";
import { Validation, type ValidationDeps } from "#domain/acme/validation.ts";
import type { ValidationOutcome, ValidationTask, Validators } from "#domain/acme/validators.ts";
import type { Store } from "#domain/store.ts";
import { type TestClock, testClock } from "#test/support/ports.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { noon } from "#test/support/stores/records.ts";

export interface SeekingDeps {
  readonly store: Store;
  readonly clock: TestClock;
  readonly validators: Validators;
  readonly onAttempt?: ValidationDeps["onAttempt"];
  readonly onFault?: ValidationDeps["onFault"];
  /** Members of `acme` beside those of the tests. */
  readonly acme?: Partial<ReturnType<ValidationDeps["config"]>["acme"]>;
}

/** A clock that stands at the moment when what these tests store was made. */
export const clockAtNoon = (): TestClock => testClock(new Date(noon).toISOString());

/** The validation of a server that serves one directory. */
export function seeking({ store, clock, validators, ...rest }: SeekingDeps): Validation {
  const settings = { ...acme, ...rest.acme };
  return new Validation({
    store,
    clock,
    config: () => ({ acme: settings, caa: { identifier: undefined } }),
    directories: new Directories({ store, config: () => ({ acme: served }) }),
    validators,
    onAttempt: rest.onAttempt ?? (() => {}),
    onFault:
      rest.onFault ??
      ((error) => {
        throw error;
      }),
  });
}

/** Stores challenges of an account, one for each host; their ids sort as they were made. */
export async function challenges(
  store: Store,
  hosts: readonly string[],
  account = make.account(),
): Promise<readonly DueChallenge[]> {
  const all = hosts.map((host) => {
    const id = orderedId(noon, Uint8Array.fromHex((++made).toString(16).padStart(20, "0")));
    const identifier = { type: "dns", value: host } as const;
    const proof = make.authorization({ account: account.id, identifier }, []);
    const challenge = make.challenge({ id, authorization: proof.id });
    return {
      proof: { ...proof, challenges: [challenge] },
      due: { id, account: account.id, host },
    };
  });
  await store.atomically(async (tx) => {
    await tx.acme.addAccount(account);
    for (const { proof } of all) await tx.acme.addAuthorization(proof);
  });
  return all.map(({ due }) => due);
}

let made = 0;

/** Hosts that nobody else has. */
export const hosts = (count: number, domain = `${crypto.randomUUID()}.test`): readonly string[] =>
  Array.from({ length: count }, (_, at) => `h${at}.${domain}`);

/** Who is asked stays silent until the test has it answer. */
export class SilentNetwork implements Validators {
  readonly #running = new Map<ValidationTask, (outcome: ValidationOutcome) => void>();
  /** Hosts in the order in which they were asked. */
  readonly asked: string[] = [];
  /** The most attempts at a time: in all, of one account, at one host. */
  readonly most = { altogether: 0, account: 0, host: 0 };

  attempt(task: ValidationTask): Promise<ValidationOutcome> {
    this.asked.push(task.identifier.value);
    return new Promise((resolve) => {
      this.#running.set(task, resolve);
      const tasks = [...this.#running.keys()];
      const { most } = this;
      most.altogether = Math.max(most.altogether, tasks.length);
      most.account = Math.max(most.account, mostOf(tasks.map(({ accountUrl }) => accountUrl)));
      most.host = Math.max(most.host, mostOf(tasks.map(({ identifier }) => identifier.value)));
    });
  }

  /** Hosts that are being asked. */
  get running(): readonly string[] {
    return [...this.#running.keys()].map(({ identifier }) => identifier.value);
  }

  /** Has a host answer, once to each who asks, that there is no proof. */
  end(host: string): void {
    for (const [task, resolve] of [...this.#running]) {
      if (task.identifier.value !== host) continue;
      this.#running.delete(task);
      resolve(nobody);
      return;
    }
    throw new Error(`${host} is not being asked`);
  }

  /** Everybody answers. */
  endAll(): void {
    for (const host of this.running) this.end(host);
  }
}

const nobody = {
  proved: false,
  problem: { type: "connection", detail: "There is nobody." },
} as const;

function mostOf(words: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Math.max(...counts.values());
}

const acme = {
  enabled: true,
  terms_of_service: undefined,
  renewal_explanation_url: undefined,
  challenge_types: ["http-01"],
  validation_attempts: 4,
  validation_timeout_seconds: 10,
  allow_ip_identifiers: false,
  pre_authorization: false,
  order_validity_hours: 1,
  authz_validity_hours: 1,
  max_identifiers: 10,
  renewal_window_days: 0,
  renewal_window_width_hours: 0,
  idle_account_days: 365,
  renewal_poll_hours: 6,
} as const;

const served = {
  enabled: true,
  base_url: "https://ca.test",
  directory_path: "/acme",
  profiles: {},
  directories: {},
  ca_id: undefined,
  ca_label: "ca",
  profile: "server",
  require_eab: false,
} as const;
