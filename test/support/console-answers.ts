/** What a part of the console asks for when it runs without a browser, answered as a test wants. */

/** One question, and the way to answer it. */
export interface Question {
  /** The path behind `/api/`, with its query. */
  readonly asked: string;
  readonly answer: (told: object) => void;
}

/** Takes every question until it is over; `atOnce` answers those that are not held back. */
export class ConsoleAnswers {
  readonly #before = globalThis.fetch;
  /** Those that wait, oldest first. */
  readonly waiting: Question[] = [];

  constructor(atOnce: (asked: string) => object | undefined) {
    const fetch = (asked: string | URL | Request): Promise<Response> => {
      const path = String(asked).replace(/^\/api\//, "");
      const told = atOnce(path);
      if (told !== undefined) return Promise.resolve(Response.json(told));
      return new Promise((resolve) => {
        this.waiting.push({ asked: path, answer: (later) => resolve(Response.json(later)) });
      });
    };
    globalThis.fetch = Object.assign(fetch, { preconnect: this.#before.preconnect });
  }

  over(): void {
    globalThis.fetch = this.#before;
  }
}

/** Of somebody whose API token nobody looks at. */
export const anyCredential = { kind: "token", token: "t", onEnd: () => undefined } as const;
