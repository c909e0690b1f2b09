/**
 * Calls operations of the table over whichever way a command runs, and turns error answers into
 * refusals.
 */

import type { Answers, Questions } from "#api/answers.ts";
import {
  askedOf,
  type Operation,
  type OperationName,
  operationOf,
  type operations,
} from "#operations";

import { Failure, Refusal } from "./failure.ts";
import { networkFault } from "./network-faults.ts";
import type { Reach, RequestBody } from "./reach.ts";
import { type Row, rowOf, rowsAt, textAt } from "./rows.ts";

/**
 * What an operation is asked with, wherever the request has it. Its names are held against the
 * operation; what a person has written for them the instance reads.
 */
export type Members<Name extends OperationName> = {
  readonly [M in keyof Questions[Name]]?: Said;
} & { readonly [M in InPath<(typeof operations)[Name]["route"]>]: string | number };

/** What stands in a route as `{name}` or `{name*}`; a question without it has no address. */
type InPath<Route extends string> = Route extends `${string}{${infer Member}}${infer Rest}`
  ? (Member extends `${infer Bare}*` ? Bare : Member) | InPath<Rest>
  : never;

/** Any JSON; what is undefined, here or within, is left out. */
type Said = string | number | boolean | null | undefined | object;

/** Any members, once their names have been held against the operation. */
type Unread = Readonly<Record<string, unknown>>;

/** Members without any that the operation does not have, also where they come in a variable. */
type Only<Name extends OperationName, M> = M & {
  readonly [Other in Exclude<keyof M, keyof Questions[Name]>]: never;
};

/** The members, which only an operation without any in its route may be asked without. */
type Given<Name extends OperationName, M> =
  | readonly [members: Only<Name, M>]
  | (Record<never, never> extends Members<Name> ? readonly [] : never);

/** What an operation answers, by the names of its members. */
export type Answer<Name extends OperationName> = Row<
  Name extends keyof Answers ? Answers[Name] : unknown
>;

/**
 * One way to an instance for one command; it is opened by the first request and closed with the
 * command.
 */
export class Client {
  readonly #reach: () => Promise<Reach>;
  readonly #waiting: Waiting | undefined;
  readonly #patiently: Patience;
  readonly #rowOf: (name: OperationName) => Operation;
  #open: Promise<Reach> | undefined;

  /** `reach` is opened on the first call only, so that help and usage errors need no instance. */
  constructor(
    reach: () => Promise<Reach>,
    { waiting, patiently = (work) => work, rowOf: named = operationOf }: ClientOptions = {},
  ) {
    this.#reach = reach;
    this.#waiting = waiting;
    this.#patiently = patiently;
    this.#rowOf = named;
  }

  /**
   * The same way to the instance for work that tells by itself how far it has come; it is closed
   * with this one.
   */
  untold(): Client {
    return new Client(() => this.#reached(), { waiting: this.#waiting, rowOf: this.#rowOf });
  }

  /**
   * The answer as a JSON object. Throws `Refusal` for an error answer and `Failure` for a parked
   * operation.
   */
  async ask<Name extends OperationName, M extends Members<Name>>(
    name: Name,
    ...[members]: Given<Name, M>
  ): Promise<Answer<Name>> {
    return rowOf(await this.#answer(name, members));
  }

  /**
   * As `ask`, of what was parked before as `approval`: answers what came of it, and parks nothing
   * again.
   */
  async askOf<Name extends OperationName, M extends Members<Name>>(
    approval: string,
    name: Name,
    members: Only<Name, M>,
  ): Promise<Answer<Name>> {
    const { method, path, body: json } = askedOf(this.#rowOf(name), members);
    const body = json && { type: "application/json", content: JSON.stringify(json) };
    const reach = await this.#reached();
    const named = { [approvalHeader]: approval };
    const answered = this.#patiently(reach.send(method, path, body, named));
    return rowOf(await jsonOf(await accepted(await answered)));
  }

  /** As `ask`, for as long as it takes. */
  async askLong<Name extends OperationName, M extends Members<Name>>(
    name: Name,
    members: Only<Name, M>,
  ): Promise<Answer<Name>> {
    return rowOf(await jsonOf(await this.#send(name, members, true)));
  }

  /** The answer as octets, for certificates, bundles and CRLs. */
  async fetch<Name extends OperationName, M extends Members<Name>>(
    name: Name,
    ...[members]: Given<Name, M>
  ): Promise<Uint8Array> {
    const response = await this.#send(name, members);
    return new Uint8Array(await this.#patiently(response.arrayBuffer()));
  }

  /**
   * The answer as octets that come piece by piece, for as long as that takes, and the name it is to
   * have.
   */
  async stream<Name extends OperationName, M extends Members<Name>>(
    name: Name,
    members: Only<Name, M>,
  ): Promise<{ readonly name: string; readonly pieces: AsyncIterable<Uint8Array> }> {
    const { body, headers } = await this.#send(name, members, true);
    const named = /filename="([A-Za-z0-9._-]+)"/.exec(headers.get("content-disposition") ?? "");
    if (body === null || named === null) {
      throw new Failure("The server answered with something else.", "unreachable");
    }
    return { name: named[1] ?? "", pieces: body };
  }

  /** Posts octets, as devices do; the members are those of the route. */
  async post<Name extends OperationName, M extends Members<Name>>(
    name: Name,
    members: Only<Name, M>,
    body: RequestBody,
  ): Promise<Response> {
    const { method, path } = askedOf(this.#rowOf(name), members);
    const reach = await this.#reached();
    return accepted(await this.#patiently(reach.send(method, path, body)));
  }

  /** One page, or with `all` every page in one envelope. */
  async list<Name extends OperationName, M extends Members<Name>>(
    name: Name,
    members: Only<Name, M>,
    all: boolean,
  ): Promise<Answer<Name>> {
    const items: Row[] = [];
    let envelope: Row | undefined;
    for await (const page of this.#pages(name, members, all)) {
      if (!all) return rowOf(page);
      items.push(...rowsAt(page, "items"));
      const { next_cursor, has_more } = page;
      envelope = { ...(envelope ?? page), next_cursor, has_more };
    }
    return rowOf({ ...envelope, items });
  }

  /** One page after another as they arrive; only the first without `all`. */
  pages<Name extends OperationName, M extends Members<Name>>(
    name: Name,
    members: Only<Name, M>,
    all: boolean,
  ): AsyncGenerator<Answer<Name>> {
    return this.#pages(name, members, all);
  }

  async *#pages<A>(name: OperationName, members: Unread, all: boolean): AsyncGenerator<Row<A>> {
    let page = rowOf(await this.#answer(name, members));
    yield rowOf(page);
    for (let n = 1; all && textAt(page, "next_cursor") !== "" && n < pagesMax; n++) {
      const cursor = textAt(page, "next_cursor");
      page = rowOf(await this.#answer(name, { ...members, cursor }));
      yield rowOf(page);
    }
  }

  /** Which way requests go; it is opened when no request has done so. */
  async way(): Promise<Reach["way"]> {
    return (await this.#reached()).way;
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) await (await open).close();
  }

  async #answer(name: OperationName, members: Unread = {}): Promise<unknown> {
    return await jsonOf(await this.#send(name, members));
  }

  async #send(name: OperationName, members: Unread = {}, long = false): Promise<Response> {
    const { method, path, body: json } = askedOf(this.#rowOf(name), members);
    const reach = await this.#reached();
    const body = json && { type: "application/json", content: JSON.stringify(json) };
    const asked = reach.send(method, path, body, {}, long);
    const response = await this.#patiently(asked);
    if (response.status !== 202 || this.#waiting === undefined) return accepted(response);
    const approval = textAt(rowOf(await jsonOf(response)), "approval_id");
    await this.#decided(reach, approval, this.#waiting);
    // The maker asks again by name, and is answered what the operation answered.
    return accepted(await reach.send(method, path, body, { [approvalHeader]: approval }));
  }

  /** Polls until nobody is asked any more; gives up with the sentence of a parked operation. */
  async #decided(reach: Reach, approval: string, { seconds, note, sleep }: Waiting): Promise<void> {
    note(`The operation waits for approval ${approval}.`);
    const { path } = askedOf(this.#rowOf("approval.show"), { id: approval });
    let unanswered = 0;
    for (let waited = 0; waited < seconds; waited += pollSeconds) {
      await sleep(pollSeconds * 1000);
      const found = rowOf(await jsonOf(await accepted(await reach.send("GET", path))));
      const { result } = found;
      const status = textAt(found, "status");
      if (["pending", "approved", "executing"].includes(status)) continue;
      // The answer follows the effect; after a crash in between it never comes.
      if (status !== "executed" || result !== undefined || ++unanswered > answerSeconds) return;
    }
    throw parked(approval);
  }

  #reached(): Promise<Reach> {
    this.#open ??= this.#reach();
    return this.#open;
  }
}

export interface ClientOptions {
  /** A parked operation is waited for like this, and answers as if it had not been. */
  readonly waiting?: Waiting | undefined;
  /** Told of every request under way. */
  readonly patiently?: Patience;
  /** Where the operations stand; the table of pkid when not given. */
  readonly rowOf?: (name: OperationName) => Operation;
}

/** Gives what the work gives, and may tell somebody meanwhile that it goes on. */
export type Patience = <T>(work: Promise<T>) => Promise<T>;

/** How a parked operation is waited for. */
export interface Waiting {
  readonly seconds: number;
  readonly note: (sentence: string) => void;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

const parked = (approval: string): Failure => {
  const sentence = `The operation waits for approval ${approval}.`;
  return new Failure(sentence, "approval_pending", { approval_id: approval });
};

async function accepted(response: Response): Promise<Response> {
  if (response.status === 202) {
    throw parked(textAt(rowOf(await jsonOf(response)), "approval_id"));
  }
  if (response.ok) return response;
  const body = rowOf(await jsonOf(response));
  if (typeof body.error !== "string") {
    throw new Failure(`The server answered ${response.status}.`, "unreachable");
  }
  throw new Refusal(body, response.status);
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text().catch((error) => {
    throw new Failure(`The answer broke off: ${networkFault(error)}.`, "unreachable");
  });
  try {
    return JSON.parse(text);
  } catch {
    const sentence = `The server answered ${response.status} with something that is not JSON.`;
    throw new Failure(sentence, "unreachable");
  }
}

/** Bounds `--all`: 10,000 pages of 500. */
const pagesMax = 10_000;
/** Names the parked request a call is about. */
const approvalHeader = "x-pki-approval-id";
const pollSeconds = 1;
const answerSeconds = 60;
