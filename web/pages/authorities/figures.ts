/**
 * How much the CAs of a tree have issued and revoked, and how old their lists are: asked for when a
 * row comes into sight, a few CAs at a time, and again when an event says that it has changed.
 */

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { ask, type Credential, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";

/** What is not known stays undefined: refused, not asked yet, or there is none. */
export interface Figures {
  readonly issued: number | undefined;
  readonly revoked: number | undefined;
  readonly list: Answers["crl.status"]["base"] | undefined;
  /** CAs right below it, whatever page they are on; counted where not all are on this one. */
  readonly below: number | undefined;
}

export interface FiguresOfTree {
  /** True where some of the tree is on other pages. */
  readonly isPart: boolean;
  readonly of: (id: string) => Figures | undefined;
  /** Its row is in sight. Another function once nothing is known to be wanted any more. */
  readonly want: (id: string) => void;
  /** Something has come below it, or gone: it is counted again where it has been in sight. */
  readonly changed: (id: string) => void;
}

/** While a tree is drawn, of which this may be a part. */
export function useFigures(isPart: boolean): FiguresOfTree {
  const { credential, feed } = useConsole();
  const [known, setKnown] = useState<ReadonlyMap<string, Figures>>(new Map());
  const loader = useMemo(
    () =>
      new FigureLoader(credential, isPart, (id, one) =>
        setKnown((was) => new Map(was).set(id, one)),
      ),
    [credential, isPart],
  );
  useEffect(() => {
    const leave = feed.listen({
      onEvents: (events) => {
        for (const { action, ca_id } of events) {
          if (ca_id !== undefined && /^(?:cert|crl)\./.test(action)) loader.changed(ca_id);
        }
      },
    });
    return () => {
      leave();
      loader.close();
    };
  }, [feed, loader]);
  const want = useCallback((id: string) => loader.want(id), [loader]);
  return {
    isPart,
    of: (id) => known.get(id),
    want,
    changed: (id) => loader.changed(id),
  };
}

/**
 * A few questions a CA, so many CAs at a time, and none more often than every few seconds; none
 * before the last answer has come, which would take the place of a newer one.
 */
export class FigureLoader {
  readonly #credential: Credential;
  readonly #isPart: boolean;
  readonly #told: (id: string, figures: Figures) => void;
  readonly #stop = new AbortController();
  readonly #wanted = new Set<string>();
  readonly #waiting = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #running = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    credential: Credential,
    isPart: boolean,
    told: (id: string, figures: Figures) => void,
  ) {
    this.#credential = credential;
    this.#isPart = isPart;
    this.#told = told;
  }

  want(id: string): void {
    if (this.#wanted.has(id)) return;
    this.#wanted.add(id);
    this.#waiting.add(id);
    this.#begin();
  }

  /** What nobody has seen yet is asked for when it is seen. */
  changed(id: string): void {
    if (!this.#wanted.has(id)) return;
    this.#changed.add(id);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const one of this.#changed) this.#waiting.add(one);
      this.#changed.clear();
      this.#begin();
    }, 3_000);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
    this.#stop.abort();
  }

  #begin(): void {
    for (const id of this.#waiting) {
      if (this.#running.size >= atATime) return;
      if (this.#running.has(id)) continue;
      this.#waiting.delete(id);
      this.#running.add(id);
      void this.#load(id).then(() => {
        this.#running.delete(id);
        this.#begin();
      });
    }
  }

  async #load(id: string): Promise<void> {
    const { signal } = this.#stop;
    const total = async (query: { readonly status?: string }) => {
      const asked = ask("cert.list", { id, limit: 1, ...query }, this.#credential, signal);
      const reply = await replied(asked);
      return reply.kind === "answered" ? reply.answer.total : undefined;
    };
    const list = async () => {
      const reply = await replied(ask("crl.status", { id }, this.#credential, signal));
      return reply.kind === "answered" ? reply.answer.base : undefined;
    };
    const children = async () => {
      const asked = ask("ca.list", { parent_id: id, limit: 1 }, this.#credential, signal);
      const reply = await replied(asked);
      return reply.kind === "answered" ? reply.answer.total : undefined;
    };
    const [issued, revoked, base, below] = await Promise.all([
      total({}),
      total({ status: "revoked" }),
      list(),
      this.#isPart ? children() : undefined,
    ]);
    if (!signal.aborted) this.#told(id, { issued, revoked, list: base, below });
  }
}

const atATime = 2;
