/**
 * One subscriber that issues in bulk and repeats what a kill cut off, under the same id, until it
 * is done.
 */

import type { Instance } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import type { Acknowledged } from "./chaos-checks.ts";

interface Order {
  readonly operation_id: string;
  readonly items: readonly { readonly csr: string; readonly profile: string }[];
  cutOff: boolean;
}

/** Its orders outlive the instances it is handed. */
export class BulkClient {
  readonly #ca: string;
  readonly #secret: string;
  readonly #size: number;
  readonly #told: Acknowledged;
  #order: Order | undefined;
  /** Orders answered completely, and those of them that had been cut off before. */
  ended = 0;
  resumed = 0;

  constructor(ca: string, secret: string, size: number, told: Acknowledged) {
    this.#ca = ca;
    this.#secret = secret;
    this.#size = size;
    this.#told = told;
  }

  /** Orders again and again until told to stop. */
  async run(instance: Instance, stopped: { readonly now: boolean }): Promise<void> {
    while (!stopped.now) {
      this.#order ??= this.#newOrder();
      try {
        await this.#send(instance, this.#order);
      } catch {
        // The server was killed under the request.
        this.#order.cutOff = true;
        await Bun.sleep(5);
      }
    }
  }

  /** Ends what was cut off last. */
  async finish(instance: Instance): Promise<void> {
    if (this.#order !== undefined) await this.#send(instance, this.#order);
  }

  #newOrder(): Order {
    const operation_id = crypto.randomUUID();
    const items = Array.from({ length: this.#size }, (_, at) => {
      const name = `bulk-${at}.${operation_id}.example`;
      const subject = [{ type: "CN" as const, value: name }];
      return { csr: csr({ dns: [name], subject }), profile: "logged" };
    });
    return { operation_id, items, cutOff: false };
  }

  async #send(instance: Instance, order: Order): Promise<void> {
    const { operation_id, items } = order;
    const body = { operation_id, items, confirm_count: items.length, concurrency: 4 };
    const response = await instance.fetch(`/api/ca/${this.#ca}/certificates:bulk`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { authorization: `Token ${this.#secret}`, "content-type": "application/json" },
    });
    const result = (await response.json()) as Result; // JSON by contract.
    const told = result.items?.filter(({ status }) => status === "issued") ?? [];
    for (const { serial, certificate } of told) {
      // An item does not say which member of the lineage signed.
      this.#told.certificates.set(serial, { pem: certificate, ca: undefined });
    }
    if (told.length !== items.length) throw new Error(`${response.status}: ${told.length} issued`);
    this.ended += 1;
    if (order.cutOff) this.resumed += 1;
    this.#order = undefined;
  }
}

interface Result {
  readonly items?: readonly {
    readonly status: string;
    readonly serial: string;
    readonly certificate: string;
  }[];
}
