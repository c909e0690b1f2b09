/**
 * Remote procedure calls: each is an operation of the table, asked for and answered in messages
 * instead of JSON.
 */

import { assert, Problem, refuse } from "#core/problems.ts";
import { refuseShortage } from "#core/shortage.ts";
import type { Message, ProtoSchema } from "#core/protobuf/schema.ts";
import type { Origin } from "#domain/actor.ts";
import { givenValues } from "#domain/access/given-values.ts";
import type { Mounted } from "#domain/access/mounted.ts";
import { type Outcome, Stream } from "#domain/access/outcome.ts";
import type { Perform } from "#domain/access/perform.ts";
import { leavesOctets } from "#http/answer.ts";
import { readBytes } from "#http/body.ts";
import type { Catalog } from "#http/catalog.ts";
import type { Exchange } from "#http/exchange.ts";
import { lastingStreamOf } from "#http/streams.ts";
import type { OperationName } from "#operations";

import { approvalNamed } from "#http/request.ts";

import { rpcErrorOf } from "./errors.ts";
import { plainConnect, protocolOf, type RpcProtocol } from "./protocols.ts";
import { framesOf, type Telling } from "./stream-frames.ts";
import { type RpcStreaming, streamHeaders, streamingOf } from "./streaming.ts";

/** What an operation is asked with, and what it answered: REST members by their names. */
export type RpcQuestion = Readonly<Record<string, unknown>>;
export type RpcAnswer = Readonly<Record<string, unknown>>;

/** One method as the twin of one operation; everything but the spelling is the operation's. */
export interface RpcMethod {
  readonly operation: OperationName;
  /** Names of the messages. */
  readonly messages: readonly [request: string, response: string];
  /** What members and parameters of the operation are called here, where they have other names. */
  readonly renamed: Readonly<Record<string, string>>;
  ask(message: Message): RpcQuestion;
  answer(answer: RpcAnswer, asked: Message): Message;
}

/** A method whose twin goes on telling; it is asked as any other. */
export interface RpcStreamMethod extends Omit<RpcMethod, "answer"> {
  /** What a piece of the operation's stream is here. */
  tell(piece: unknown): Telling;
}

/** A method that is no operation: it needs no credential and goes on while the server drains. */
export interface OpenRpcMethod {
  readonly schema: ProtoSchema;
  readonly messages: readonly [request: string, response: string];
  answer(asked: Message): Promise<Message>;
}

export interface RpcDoorDeps {
  /** Full name of the service, as paths have it. */
  readonly service: string;
  readonly schema: ProtoSchema;
  readonly methods: Readonly<Record<string, RpcMethod>>;
  readonly streams: Readonly<Record<string, RpcStreamMethod>>;
  /** By their paths, without the first slash. */
  readonly open: Readonly<Record<string, OpenRpcMethod>>;
  readonly catalog: Catalog;
  readonly perform: Perform;
  /** Largest request accepted. */
  readonly bodyBytesMax: number;
}

/** What the front door lends to one call. */
export interface RpcVisit {
  readonly exchange: Exchange;
  /** Refuses while the server drains. */
  admit(): void;
  /** Who asks for this operation. */
  origin(operation: OperationName): Promise<Origin | undefined>;
  /** Told of what is no refusal. */
  fault(thrown: unknown): void;
}

/**
 * The door for every path below the service's name, and for those of open methods; never rejects.
 */
export class RpcDoor {
  readonly #deps: RpcDoorDeps;
  readonly #prefix: string;

  constructor(deps: RpcDoorDeps) {
    this.#deps = deps;
    this.#prefix = `/${deps.service}/`;
  }

  /** True for paths that are answered here. */
  serves(path: string): boolean {
    return path.startsWith(this.#prefix) || Object.hasOwn(this.#deps.open, path.slice(1));
  }

  /** Answers in the way the caller spoke; refusals carry their code and facts as a detail. */
  async answer(visit: RpcVisit): Promise<Response> {
    let protocol: Pick<RpcProtocol, "refusal"> = plainConnect;
    try {
      // A GET has no body whose type could be wrong.
      if (visit.exchange.request.method !== "POST") this.#refuseMethod(visit.exchange);
      const { headers } = visit.exchange.request;
      const stream = this.#streamOf(visit.exchange);
      if (stream !== undefined) {
        const streaming = streamingOf(headers);
        protocol = streaming;
        return await this.#stream(visit, streaming, stream);
      }
      const unary = protocolOf(headers);
      protocol = unary;
      const open = this.#deps.open[visit.exchange.path.slice(1)];
      if (open !== undefined) return await this.#open(visit, unary, open);
      return await this.#call(visit, unary);
    } catch (thrown) {
      const isRefusal = thrown instanceof Problem;
      if (!isRefusal) visit.fault(thrown);
      const shortage = isRefusal ? undefined : refuseShortage(thrown);
      const refusal = protocol.refusal(rpcErrorOf(shortage ?? thrown));
      if (thrown instanceof Problem && leavesOctets(thrown.code)) {
        refusal.headers.set("connection", "close");
      }
      return refusal;
    }
  }

  async #call(visit: RpcVisit, protocol: RpcProtocol): Promise<Response> {
    visit.admit();
    const method = this.#methodOf(visit.exchange);
    const { outcome, asked } = await this.#performed(visit, protocol, method);
    if (outcome.kind === "parked") {
      throw refuse("approval_pending", { approval_id: outcome.approval });
    }
    // Operations with a twin answer JSON objects.
    const told = outcome.output as RpcAnswer;
    const type = { schema: this.#deps.schema, name: method.messages[1] };
    return protocol.answer(type, method.answer(told, asked));
  }

  async #stream(
    visit: RpcVisit,
    streaming: RpcStreaming,
    method: RpcStreamMethod,
  ): Promise<Response> {
    visit.admit();
    found(visit.exchange);
    const { outcome } = await this.#performed(visit, streaming, method);
    const { output } = outcome;
    assert(output instanceof Stream, "the twin of a stream goes on telling");
    const { source } = output;
    visit.exchange.timing.lasts();
    const type = { schema: this.#deps.schema, name: method.messages[1] };
    const octets = framesOf({ source, streaming, type, method, fault: visit.fault });
    const headers = streamHeaders(streaming.contentType);
    return new Response(lastingStreamOf(source, octets), { headers });
  }

  /** What came of the call, which is read, judged and done as over REST. */
  async #performed(
    visit: RpcVisit,
    { read }: Pick<RpcProtocol, "read">,
    method: Omit<RpcMethod, "answer">,
  ): Promise<{ readonly outcome: Outcome; readonly asked: Message }> {
    const { schema, perform, bodyBytesMax } = this.#deps;
    const { exchange } = visit;
    exchange.operation = method.operation;
    const origin = await visit.origin(method.operation);
    // The path is in the message, so the message is read first; but from nobody who is unknown.
    if (origin === undefined) throw refuse("unauthenticated");
    const octets = await bodyOf(exchange, bodyBytesMax);
    const asked = await read({ schema, name: method.messages[0] }, octets);
    const mounted = this.#mounted(method.operation);
    const call = {
      operation: mounted,
      origin,
      given: givenValues(mounted, present(method.ask(asked))),
      approval: approvalNamed(exchange.request.headers),
    };
    const outcome = await perform(call).catch((thrown) => {
      throw inWordsOf(method, thrown);
    });
    return { outcome, asked };
  }

  async #open(
    { exchange }: RpcVisit,
    protocol: RpcProtocol,
    { schema, messages: [request, response], answer }: OpenRpcMethod,
  ): Promise<Response> {
    found(exchange);
    const octets = await bodyOf(exchange, openBytesMax);
    const asked = await protocol.read({ schema, name: request }, octets);
    return protocol.answer({ schema, name: response }, await answer(asked));
  }

  #streamOf(exchange: Exchange): RpcStreamMethod | undefined {
    const name = exchange.path.slice(this.#prefix.length);
    const { streams } = this.#deps;
    return Object.hasOwn(streams, name) ? streams[name] : undefined;
  }

  #methodOf(exchange: Exchange): RpcMethod {
    const name = exchange.path.slice(this.#prefix.length);
    const method = Object.hasOwn(this.#deps.methods, name) ? this.#deps.methods[name] : undefined;
    if (method === undefined) throw refuse("not_found");
    found(exchange);
    return method;
  }

  /** Refuses `not_found` for a method nobody knows, else `method_not_allowed`. */
  #refuseMethod(exchange: Exchange): never {
    const open = this.#deps.open[exchange.path.slice(1)];
    if (open === undefined && this.#streamOf(exchange) === undefined) this.#methodOf(exchange);
    else found(exchange);
    throw refuse("method_not_allowed", { allow: ["POST"] });
  }

  #mounted(operation: OperationName): Mounted {
    const mounted = this.#deps.catalog.mounted(operation);
    assert(mounted !== undefined, "a public operation has no twin");
    return mounted;
  }
}

/** From here on the path is one that is known, and may be counted under its name. */
function found(exchange: Exchange): void {
  exchange.route = exchange.path;
  if (exchange.request.method !== "POST") throw refuse("method_not_allowed", { allow: ["POST"] });
}

/** A refusal that names a member of the operation names the one of the message instead. */
function inWordsOf({ renamed }: Pick<RpcMethod, "renamed">, thrown: unknown): unknown {
  if (!(thrown instanceof Problem)) return thrown;
  const facts: Record<string, unknown> = { ...thrown.facts };
  for (const fact of namingFacts) {
    const name = renamed[String(facts[fact])];
    if (name !== undefined) facts[fact] = name;
  }
  return refuse(thrown.code, facts, thrown.message);
}

async function bodyOf(exchange: Exchange, bytesMax: number): Promise<Uint8Array> {
  const octets = await readBytes(exchange.request, bytesMax);
  exchange.timing.bodyRead();
  exchange.movedAt = performance.now();
  return octets;
}

/** A member without presence is given when it says something. */
const present = (question: RpcQuestion): RpcQuestion =>
  Object.fromEntries(
    Object.entries(question).filter(([, value]) => value !== undefined && value !== ""),
  );

/** The facts of refusals that name a member or a parameter. */
const namingFacts = ["field", "parameter"] as const;
/** Nobody is known yet, and what is asked is a name. */
const openBytesMax = 4096;
