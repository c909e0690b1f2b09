/**
 * Calls operations of the table over whichever way a command runs, and turns error answers into
 * refusals.
 */

import { type OperationName, routeOf } from "#operations";

import { Failure, Refusal } from "./failure.ts";
import type { Reach, RequestBody } from "./reach.ts";
import { type Row, rowOf, rowsAt, textAt } from "./rows.ts";

/** What an operation is asked with; absent query members are left out. */
export interface Question {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** JSON members; undefined ones are left out. */
  readonly body?: Readonly<Record<string, unknown>>;
}

/**
 * One way to an instance for one command; it is opened by the first request and closed with the
 * command.
 */
export class Client {
  readonly #reach: () => Promise<Reach>;
  readonly #waiting: Waiting | undefined;
  readonly #patiently: Patience;
  #open: Promise<Reach> | undefined;

  /**
   * `reach` is opened on the first call only, so that help and usage errors need no instance. With
   * `waiting` a parked operation is waited for, and answers as if it had not been. `patiently` is
   * told of every request under way.
   */
  constructor(
    reach: () => Promise<Reach>,
    waiting?: Waiting,
    patiently: Patience = (work) => work,
  ) {
    this.#reach = reach;
    this.#waiting = waiting;
    this.#patiently = patiently;
  }

  /**
   * The same way to the instance for work that tells by itself how far it has come; it is closed
   * with this one.
   */
  untold(): Client {
    return new Client(() => this.#reached(), this.#waiting);
  }

  /**
   * The answer as a JSON object. Throws `Refusal` for an error answer and `Failure` for a parked
   * operation.
   */
  async ask(name: OperationName, question: Question = {}): Promise<Row> {
    const response = await this.#send(name, question);
    return rowOf(await jsonOf(response));
  }

  /** The answer as octets, for certificates, bundles and CRLs. */
  async fetch(name: OperationName, question: Question = {}): Promise<Uint8Array> {
    const response = await this.#send(name, question);
    return new Uint8Array(await this.#patiently(response.arrayBuffer()));
  }

  /** Posts octets to a path of the instance, as devices do. */
  async post(name: OperationName, path: Record<string, string>, body: RequestBody) {
    const { method, path: pattern } = routeOf(name);
    const reach = await this.#reached();
    return accepted(await this.#patiently(reach.send(method, filled(pattern, path), body)));
  }

  /** One page, or with `all` every page in one envelope. */
  async list(name: OperationName, question: Question, all: boolean): Promise<Row> {
    if (!all) return this.ask(name, question);
    const items: Row[] = [];
    let envelope: Row | undefined;
    for await (const page of this.pages(name, question, true)) {
      items.push(...rowsAt(page, "items"));
      const { next_cursor, has_more } = page;
      envelope = { ...(envelope ?? page), next_cursor, has_more };
    }
    return { ...envelope, items };
  }

  /** One page after another as they arrive; only the first without `all`. */
  async *pages(name: OperationName, question: Question, all: boolean): AsyncGenerator<Row> {
    let page = await this.ask(name, question);
    yield page;
    for (let n = 1; all && textAt(page, "next_cursor") !== "" && n < pagesMax; n++) {
      const query = { ...question.query, cursor: textAt(page, "next_cursor") };
      page = await this.ask(name, { ...question, query });
      yield page;
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) await (await open).close();
  }

  async #send(name: OperationName, question: Question): Promise<Response> {
    const { method, path } = routeOf(name);
    const reach = await this.#reached();
    const target = filled(path, question.path ?? {}) + search(question.query ?? {});
    const body =
      question.body === undefined
        ? undefined
        : { type: "application/json", content: JSON.stringify(question.body) };
    const response = await this.#patiently(reach.send(method, target, body));
    if (response.status !== 202 || this.#waiting === undefined) return accepted(response);
    const approval = textAt(rowOf(await jsonOf(response)), "approval_id");
    await this.#decided(reach, approval, this.#waiting);
    // The maker asks again by name, and is answered what the operation answered.
    return accepted(await reach.send(method, target, body, { [approvalHeader]: approval }));
  }

  /** Polls until nobody is asked any more; gives up with the sentence of a parked operation. */
  async #decided(reach: Reach, approval: string, { seconds, note, sleep }: Waiting): Promise<void> {
    note(`The operation waits for approval ${approval}.`);
    const path = filled(routeOf("approval.show").path, { id: approval });
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
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    const sentence = `The server answered ${response.status} with something that is not JSON.`;
    throw new Failure(sentence, "unreachable");
  }
}

/** The path of a pattern: `{name}` replaced by its percent-encoded value. */
function filled(pattern: string, path: Readonly<Record<string, string>>): string {
  return pattern.replace(/\{([a-z_]+)\*?\}/g, (_, name) => encodeURIComponent(path[name] ?? ""));
}

function search(query: Readonly<Record<string, string | number | undefined>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, String(value));
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

/** Bounds `--all`: 10,000 pages of 500. */
const pagesMax = 10_000;
/** Names the parked request a call is about. */
const approvalHeader = "x-pki-approval-id";
const pollSeconds = 1;
const answerSeconds = 60;
