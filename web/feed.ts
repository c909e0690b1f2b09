/**
 * The live feed of audit events in the browser: one stream for the whole console, which goes on
 * behind the last event it has told when the connection was lost.
 */

import type { Answers } from "#api/answers.ts";
import { addressOf, type Credential, proof } from "./api.ts";

export type FeedEvent = Answers["event.list"]["items"][number];

/**
 * `off`: this caller may not read events, so nothing moves by itself. `paused`: it goes on where it
 * was when somebody looks again.
 */
export type FeedState = "connecting" | "live" | "lost" | "paused" | "off";

export interface FeedListener {
  /** New events, oldest first, each once. */
  readonly onEvents?: (events: readonly FeedEvent[]) => void;
  /** Events went by that will not be told: whoever shows a list asks for it again. */
  readonly onGap?: () => void;
  readonly onState?: (state: FeedState) => void;
}

/** Reads the stream from when it is made until it is closed. */
export class Feed {
  readonly #credential: Credential;
  readonly #listeners = new Set<FeedListener>();
  readonly #stop = new AbortController();
  #state: FeedState = "connecting";
  #lastId: string | undefined;
  /** Aborted while nobody looks, and another one from when somebody does. */
  #looked = new AbortController();
  #resumed: (() => void) | undefined;
  /** Aborted when the browser is cut off; another one for each connection. */
  #line = new AbortController();
  #hurried: (() => void) | undefined;

  /** Goes on behind the event of this id, or begins with what comes. */
  constructor(credential: Credential, lastId?: string) {
    this.#credential = credential;
    this.#lastId = lastId;
    void this.#run();
  }

  get state(): FeedState {
    return this.#state;
  }

  /** The last event that was told, or the last one before it began. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** Told from now on, until the function that is given back is called. */
  listen(listener: FeedListener): () => void {
    this.#listeners.add(listener);
    listener.onState?.(this.#state);
    return () => this.#listeners.delete(listener);
  }

  /** Lets its connection go until it is resumed: nobody looks. */
  pause(): void {
    this.#looked.abort();
  }

  /** Goes on behind what was told last. */
  resume(): void {
    if (!this.#looked.signal.aborted) return;
    this.#looked = new AbortController();
    this.#resumed?.();
  }

  /** The browser says that it is cut off: what looks alive is not. */
  cut(): void {
    this.#line.abort();
  }

  /** Tries at once, where it waits to try again: the browser says that it is connected. */
  hurry(): void {
    this.#hurried?.();
  }

  close(): void {
    this.#stop.abort();
    this.#listeners.clear();
    this.#resumed?.();
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stop.signal.aborted; failures++) {
      const begun = performance.now();
      const { signal: looked } = this.#looked;
      const over = await this.#read(looked).catch(() => false);
      if (over || this.#stop.signal.aborted) return;
      if (looked.aborted) {
        failures = -1;
        await this.#resumption();
        continue;
      }
      this.#becomes("lost");
      // A stream that lived is asked for again at once; one that does not come, ever more slowly.
      if (performance.now() - begun > 10_000) failures = 0;
      await this.#pause(Math.min(500 * 2 ** failures, 15_000));
    }
  }

  #pause(ms: number): Promise<void> {
    const hurried = new AbortController();
    this.#hurried = () => hurried.abort();
    return paused(ms, AbortSignal.any([this.#stop.signal, hurried.signal]));
  }

  async #resumption(): Promise<void> {
    this.#becomes("paused");
    await new Promise<void>((resolve) => {
      this.#resumed = resolve;
      // It may have been resumed or closed while the connection ended.
      if (!this.#looked.signal.aborted || this.#stop.signal.aborted) resolve();
    });
    this.#resumed = undefined;
    this.#becomes("connecting");
    // Before anything was told there is no place to go on from.
    if (this.#lastId === undefined) for (const { onGap } of this.#listeners) onGap?.();
  }

  /** One connection until it ends; true when there is to be no other. */
  async #read(looked: AbortSignal): Promise<boolean> {
    const silence = new Silence();
    this.#line = new AbortController();
    const ends = [this.#stop.signal, looked, silence.signal, this.#line.signal];
    try {
      return await this.#told(AbortSignal.any(ends), () => silence.broken());
    } finally {
      silence.over();
    }
  }

  async #told(signal: AbortSignal, heard: () => void): Promise<boolean> {
    const after = this.#lastId === undefined ? {} : { "last-event-id": this.#lastId };
    const response = await fetch(addressOf("event.stream"), {
      headers: { "x-requested-with": "pkid-console", ...proof(this.#credential, "GET"), ...after },
      credentials: this.#credential.kind === "session" ? "same-origin" : "omit",
      signal,
    });
    heard();
    if (response.status === 401) this.#credential.onEnd();
    if (response.status === 401 || response.status === 403 || response.status === 404) {
      await response.body?.cancel();
      this.#becomes("off");
      return true;
    }
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      return false;
    }
    this.#becomes("live");
    const reader = new FrameReader();
    for await (const octets of response.body) {
      heard();
      for (const frame of reader.frames(octets)) this.#take(frame);
      this.#deliver();
    }
    return false;
  }

  readonly #come: FeedEvent[] = [];

  #take({ id, event, text }: Frame): void {
    if (id !== undefined) this.#lastId = id;
    // What the server sends is held against its shape by its tests.
    if (event === "audit") this.#come.push(JSON.parse(text) as FeedEvent);
    if (event === "lag") for (const { onGap } of this.#listeners) onGap?.();
  }

  #deliver(): void {
    const events = this.#come.splice(0);
    if (events.length > 0) for (const { onEvents } of this.#listeners) onEvents?.(events);
  }

  #becomes(state: FeedState): void {
    if (state === this.#state) return;
    // What was missed while nobody listened is replayed by the server, so no list is asked again.
    this.#state = state;
    for (const { onState } of this.#listeners) onState?.(state);
  }
}

/**
 * Notices a connection that died without a word, as after a night's sleep or behind a router that
 * forgot it: the server says something every fifteen seconds.
 */
class Silence {
  readonly #controller = new AbortController();
  #timer = this.#listening();

  /** Aborted when nothing was heard for the time of three heartbeats. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  broken(): void {
    clearTimeout(this.#timer);
    this.#timer = this.#listening();
  }

  over(): void {
    clearTimeout(this.#timer);
  }

  #listening() {
    return setTimeout(() => this.#controller.abort(), 45_000);
  }
}

interface Frame {
  readonly id: string | undefined;
  readonly event: string;
  readonly text: string;
}

/** Takes a stream of server-sent events apart (WHATWG HTML §9.2.6), however it was cut. */
export class FrameReader {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** The frames that these octets complete. */
  frames(octets: Uint8Array): readonly Frame[] {
    const parts = (this.#rest + this.#decoder.decode(octets, { stream: true })).split(/\r?\n\r?\n/);
    this.#rest = parts.pop() ?? "";
    return parts.flatMap((part) => frameOf(part) ?? []);
  }
}

/** A frame that is nothing but an id says where to go on. */
function frameOf(text: string): Frame | undefined {
  const members = new Map<string, string[]>();
  for (const line of text.split(/\r?\n/)) {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name !== "") members.set(name, [...(members.get(name) ?? []), value]);
  }
  const lines = members.get("data");
  const id = members.get("id")?.at(-1);
  if (lines === undefined && id === undefined) return undefined;
  const event = lines === undefined ? "" : (members.get("event")?.at(-1) ?? "message");
  return { id, event, text: lines?.join("\n") ?? "" };
}

const paused = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
