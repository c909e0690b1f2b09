/**
 * Holds every answer that an instance gives to a test against what its description says: the shape
 * of what is answered in JSON, and the codes of refusals.
 */

import { Problem } from "#core/problems.ts";
import type { Catalog, Entry } from "#http/catalog.ts";
import { shapeOf } from "#http/openapi.ts";
import { reachable, Routes } from "#http/router.ts";
import { describedCatalog } from "#test/support/worlds/described-catalog.ts";
import { codeFault } from "#test/support/worlds/described-codes.ts";

/** Throws for an answer of an operation that its description does not allow. */
export type Judge = (
  side: "local" | "main",
  method: string,
  path: string,
  answer: Response,
) => Promise<void>;

/** Judges the answers of the instances it is told of, whoever fetches them. */
export class AnswersWatch {
  readonly #origins = new Set<string>();
  readonly #sockets = new Set<string>();
  #judge: Judge | undefined;

  /**
   * From now on what comes from these origins and from this admin socket is judged. The function
   * it gives ends that: what listens there later is somebody else.
   */
  add(origins: readonly string[], adminSocket: string): () => void {
    for (const origin of origins) this.#origins.add(origin);
    this.#sockets.add(adminSocket);
    return () => {
      for (const origin of origins) this.#origins.delete(origin);
      this.#sockets.delete(adminSocket);
    };
  }

  /** The same fetch, which throws for what no description allows. */
  watching(fetching: typeof fetch): typeof fetch {
    const watched = async (...asked: Parameters<typeof fetch>): Promise<Response> => {
      const answer = await fetching(...asked);
      const [input, init] = asked;
      const request = input instanceof Request ? input : undefined;
      const url = new URL(request?.url ?? String(input));
      const socket = init !== undefined && "unix" in init ? String(init.unix) : "";
      const isLocal = this.#sockets.has(socket);
      const isOurs = socket === "" ? this.#origins.has(url.origin) : isLocal;
      if (!isOurs) return answer;
      const length = Number(answer.headers.get("content-length") ?? "0");
      if (length === 0 || length > judgedMax) return answer;
      this.#judge ??= judgeOf(describedCatalog());
      const side = isLocal ? "local" : "main";
      const method = init?.method ?? request?.method ?? "GET";
      await this.#judge(side, method, url.pathname, answer.clone());
      return answer;
    };
    return Object.assign(watched, fetching);
  }
}

/** Judges by the shapes and codes of this catalogue. */
export function judgeOf(catalog: Catalog): Judge {
  const rows = [...catalog.entries].map(([name, { row }]) => [name, row] as const);
  const routes = {
    local: new Routes(reachable("local", rows)),
    main: new Routes(reachable("main", rows)),
  };
  return async (side, method, path, answer) => {
    const found = routes[side].find(method, path);
    if (found.kind !== "operation" || method === "HEAD" || !isJson(answer)) return;
    const entry = catalog.entry(found.match.operation);
    const told: unknown = await answer.json();
    const wrong =
      answer.ok || isUnready(answer, told)
        ? shapeFault(entry, answer, told)
        : codeFault(entry, codeIn(told));
    if (wrong === undefined) return;
    throw new Error(`${found.match.operation} (${answer.status}): ${wrong}`);
  };
}

/** A readiness that says no is an answer and no refusal. */
const isUnready = ({ status }: Response, told: unknown): boolean =>
  status === 503 && typeof told === "object" && told !== null && "components" in told;

function shapeFault(entry: Entry, { status }: Response, told: unknown): string | undefined {
  if (status === 202) return undefined;
  const { output } = shapeOf(entry);
  if (output === undefined) return undefined;
  try {
    output.read(told);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return JSON.stringify([error.code, error.facts]);
    return String(error);
  }
}

const codeIn = (told: unknown): unknown =>
  typeof told === "object" && told !== null && "code" in told ? told.code : undefined;

const isJson = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("application/json") === true;

/** Octets; what is longer is looked at by tests of its own. */
const judgedMax = 4_000_000;
