/** One door: the row says how a refusal is told, how the caller is known, and what breaks off. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type Problem, refuse } from "#core/problems.ts";
import { otherwise, shape, text, words } from "#core/shape.ts";
import { givenValues } from "#domain/access/given-values.ts";
import { mount } from "#domain/access/mounted.ts";
import { operation } from "#domain/access/operation.ts";
import { Document, type Outcome } from "#domain/access/outcome.ts";
import { whileStaying } from "#domain/access/stays.ts";
import { noTarget } from "#domain/access/targets.ts";
import { Catalog } from "#http/catalog.ts";
import type { MessageHandler, Refused } from "#http/public.ts";
import { type Operation, type OperationName, operations } from "#operations";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";
import { openPipeline } from "#test/support/worlds/asking.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { type StubServer, startStub, stubHandlers } from "#test/support/worlds/stub-server.ts";

const rows: Readonly<Record<string, Operation>> = {
  "toy.device": {
    route: "POST /toy/device",
    needs: "any",
    speaks: "ocsp",
    caller: "inside",
  },
  "toy.octets": { route: "POST /toy/octets", needs: "pub", speaks: "ocsp" },
  "toy.stream": { route: "GET /toy/stream", needs: "any" },
};

const clock = testClock();
let staying = true;
/** Lets the next piece go. */
let release = () => {};

const stream = operation({
  summary: "Gives a piece whenever the test lets it.",
  target: noTarget,
  output: { media: ["text/plain"] },
  run: async () => new Document({ content: pieces(), type: "text/plain" }),
});

async function* pieces() {
  for (let at = 0; at < 4; at++) {
    yield new TextEncoder().encode(`piece ${at};`);
    await new Promise<void>((resolve) => {
      release = resolve;
    });
  }
}

/** Says its name and its secret in one line: `<name>:<secret>:<greeting>`. */
const greeting = operation({
  summary: "Greets whoever the message proves.",
  target: noTarget,
  input: { greeting: otherwise(text({ max: 20 }), "hello") },
  output: shape({ said: words() }),
  run: async ({ origin, input }) => ({ said: `${input.greeting}, ${origin.principal.subject}` }),
});

const device: MessageHandler = {
  definition: greeting,
  takes: "text/plain",
  gives: ["text/plain"],
  hear: async ({ octets, requestId }) => {
    const [name = "", secret, said = ""] = new TextDecoder().decode(octets).split(":");
    if (secret !== "good") throw refuse("invalid_credentials");
    const row = rows["toy.device"];
    if (row === undefined) throw new Error("the row is above");
    const operationOfRow = mount("toy.device" as OperationName, row, greeting);
    return {
      origin: { ...rootOrigin, principal: { ...rootOrigin.principal, subject: name }, requestId },
      given: givenValues(operationOfRow, { greeting: said }),
      tell: ({ output }: Outcome) => new Response(JSON.stringify(output)),
    };
  },
};

let server: StubServer;
beforeAll(async () => {
  const store = createMemoryStore();
  const catalog = new Catalog(
    { ...operations, ...rows },
    {
      ...stubHandlers(),
      "toy.device": device,
      "toy.stream": stream,
      "toy.octets": () => {
        throw refuse("overloaded", { retry_after: 3 });
      },
    },
  );
  const told = ({ code }: Problem, { method, path }: Refused) =>
    new Response(`no: ${code}${path === "/toy/octets" ? ` ${method} ${path}` : ""}`, {
      status: 400,
    });
  server = await startStub(
    {},
    {
      catalog,
      perform: openPipeline({
        store,
        clock,
        stays: async () => (staying ? "platform" : undefined),
      }),
      speeches: { ocsp: told, acme: () => undefined },
    },
  );
});
afterAll(() => server.stop());

const send = async (path: string, body: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${server.origin}${path}`, { method: "POST", body, headers });
  return [answer.status, await answer.text()] as const;
};

describe("a caller that authenticates inside the message", () => {
  test("is who the message proves, and goes through the pipeline as any other", async () => {
    expect(await send("/toy/device", "ann:good:hi")).toEqual([200, '{"said":"hi, ann"}']);
  });

  test("is nobody by header, cookie or certificate", async () => {
    const headers = { authorization: `Basic ${btoa("root:secret")}` };
    expect(await send("/toy/device", "ann:wrong:hi", headers)).toEqual([
      400,
      "no: invalid_credentials",
    ]);
  });

  test("is refused by the operation's shapes in the words of its protocol", async () => {
    const long = await send("/toy/device", `ann:good:${"x".repeat(21)}`);
    expect(long).toEqual([400, "no: invalid_field"]);
  });

  test("may send no more than any other", async () => {
    const [status, body] = await send("/toy/device", "x".repeat(70_000));
    expect([status, body]).toEqual([400, "no: body_too_large"]);
  });
});

test("a refusal is told in the words of its row, wherever it is met", async () => {
  expect(await send("/toy/octets?a", "")).toEqual([400, "no: overloaded POST /toy/octets"]);
  const [, json] = await send("/api/tenants", "{}", { "content-type": "application/json" });
  expect(JSON.parse(json)).toMatchObject({ code: "unauthenticated" });
});

describe("an answer that is sent piece by piece", () => {
  const headers = { authorization: `Basic ${btoa("root:secret")}` };

  test("is for who has proved itself, and breaks off on the wire when its session has ended", async () => {
    expect((await fetch(`${server.origin}/toy/stream`)).status).toBe(401);
    const answer = await fetch(`${server.origin}/toy/stream`, { headers });
    const reader = answer.body?.getReader();
    const next = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await next()).toBe("piece 0;");
    release();
    expect(await next()).toBe("piece 1;");
    staying = false;
    clock.advance(1);
    release();
    const rest = await next().catch((error: unknown) => String(error));
    staying = true;
    // No third piece, and no end that would make half of it look whole.
    expect(rest).not.toContain("piece");
    expect(rest).not.toBe("");
  });

  const document = (pieces: number, ended: () => void) =>
    new Document({
      type: "text/plain",
      content: (async function* () {
        try {
          for (let at = 0; at < pieces; at++) yield new Uint8Array([at]);
        } finally {
          ended();
        }
      })(),
    });

  const read = async (content: Document["content"]) => {
    const seen: number[] = [];
    try {
      for await (const piece of content as AsyncGenerator<Uint8Array>) seen.push(piece[0] ?? -1);
    } catch (error) {
      return { seen, error: String(error) };
    }
    return { seen, error: undefined };
  };

  test("comes whole to whoever stays", async () => {
    const clock = testClock();
    let ended = 0;
    const may = async () => {
      clock.advance(2000);
      return true;
    };
    const { content } = whileStaying(
      document(5, () => ended++),
      { clock, may },
    );
    expect(await read(content)).toEqual({ seen: [0, 1, 2, 3, 4], error: undefined });
    expect(ended).toBe(1);
  });

  test("breaks off within a second where its receiver may no longer have it", async () => {
    const clock = testClock();
    let asked = 0;
    let ended = 0;
    const given = document(50, () => ended++);
    const { content } = whileStaying(given, {
      clock,
      may: async () => {
        asked++;
        return false;
      },
    });
    const pieces = content as AsyncGenerator<Uint8Array>;
    expect((await pieces.next()).value).toEqual(new Uint8Array([0]));
    expect((await pieces.next()).value).toEqual(new Uint8Array([1]));
    expect(asked).toBe(0);
    clock.advance(1000);
    expect(pieces.next()).rejects.toThrow("may no longer be");
    await Promise.resolve();
    expect([asked, (await pieces.next()).done]).toEqual([1, true]);
    expect(ended).toBe(1);
  });
});
