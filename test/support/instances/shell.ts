/**
 * A shell that only remembers: runs command lines against an application that answers what a test
 * says.
 */

import { alertRules } from "#adapters/telemetry/alerts.ts";
import { dashboard } from "#adapters/telemetry/dashboard.ts";
import { manualChapters } from "#app/manual.ts";
import { runCli } from "#cli/cli.ts";
import type { CliDeps } from "#cli/command.ts";

/** One request a command made. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly actor: string;
  /** The parked request it names. */
  readonly approval?: string | undefined;
}

/** How a command line ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly asked: readonly Asked[];
}

export type Answers = (asked: Asked) => Response | unknown;

/**
 * A running instance of nothing: every request is answered by `answers`, JSON unless it gives a
 * Response.
 */
export async function shell(
  argv: readonly string[],
  options: {
    answers?: Answers;
    env?: Readonly<Record<string, string | undefined>>;
    stdin?: string;
    deps?: Partial<CliDeps>;
    /** What the person at the terminal types; without it there is no terminal. */
    typed?: string;
  } = {},
): Promise<Ended> {
  const asked: Asked[] = [];
  const [out, err]: [string[], string[]] = [[], []];
  const output = (lines: string[]) => ({
    isTerminal: false,
    write: (content: string | Uint8Array) =>
      void lines.push(
        typeof content === "string" ? content : Buffer.from(content).toString("latin1"),
      ),
  });
  const io = {
    stdout: output(out),
    stderr: output(err),
    isAbandoned: () => false,
    env: { PKID_DATA_DIR: "/nonexistent/pkid", ...options.env },
    stdin: async () => new TextEncoder().encode(options.stdin ?? ""),
    stdinPieces: async function* () {
      yield new TextEncoder().encode(options.stdin ?? "");
    },
    ask:
      options.typed === undefined
        ? undefined
        : async (question: string) => {
            err.push(question);
            return options.typed ?? "";
          },
  };
  const code = await runCli(argv, io, {
    ...idle,
    open: async () => ({
      fetch: async (request, { local }) => {
        const url = new URL(request.url);
        const text = await request.text();
        const one = {
          method: request.method,
          path: url.pathname + url.search,
          actor: local,
          body: text === "" ? undefined : parsed(text),
          approval: request.headers.get("x-pki-approval-id") ?? undefined,
        };
        asked.push(one);
        const answer = options.answers?.(one) ?? {};
        return answer instanceof Response ? answer : Response.json(answer);
      },
      close: async () => undefined,
    }),
    ...options.deps,
  });
  return { code, stdout: out.join(""), stderr: err.join(""), asked };
}

const idle: CliDeps = {
  open: async () => {
    throw new Error("nothing to open");
  },
  serve: async () => 0,
  migrate: async () => ({ driver: "sqlite", current: 1, newest: 1, migrations: [] }),
  move: async () => {
    throw new Error("nothing to move");
  },
  verify: async () => {
    throw new Error("nothing to prove");
  },
  verifySample: async () => {
    throw new Error("nothing to sample");
  },
  archives: {
    newIdentity: async () => {
      throw new Error("no archives");
    },
    configuredOpener: async () => undefined,
    lookAt: async () => {
      throw new Error("no archives");
    },
    verify: async () => {
      throw new Error("no archives");
    },
    drillPlaces: async () => [],
    drill: async () => {
      throw new Error("no archives");
    },
    restore: async () => {
      throw new Error("no archives");
    },
  },
  preflight: async () => {
    throw new Error("nothing to look at");
  },
  sealFor: (_address, content) => content,
  support: async () => {
    throw new Error("nothing to collect");
  },
  manual: manualChapters,
  watching: {
    dashboard: async () => dashboard(),
    alerts: async (asked) => alertRules(asked),
  },
  version: { version: "1.2.3", commit: "abc", runtime: "bun 1", schema_version: 7 },
  osUser: "operator",
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // OCSP requests are no JSON.
  }
}
