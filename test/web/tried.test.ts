/** What is heard of an answer that is tried out: what cannot be sent, and what breaks off. */

import { afterEach, describe, expect, spyOn, test } from "bun:test";

import { noAnswer } from "#web/api.ts";
import { type Heard, listened, type Wanted } from "#web/pages/documentation/tried.ts";

const fetched = spyOn(globalThis, "fetch");
afterEach(() => fetched.mockReset());

const part = "data: first\n\n";

/** One part of an answer, which then ends or breaks off. */
function comes(type: string, ends: boolean): void {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(part)),
    pull: (controller) => {
      if (ends) controller.close();
      else controller.error(new TypeError("network error"));
    },
  });
  fetched.mockResolvedValueOnce(new Response(body, { headers: { "content-type": type } }));
}

/** Everything that is told of it. */
async function told(wanted: Partial<Wanted> = {}, signal = new AbortController().signal) {
  const heard: Heard[] = [];
  const credential = { kind: "token", token: "t", onEnd: () => undefined } as const;
  const asked = { method: "GET", address: nobody, headers: {}, body: undefined, ...wanted };
  await listened(asked, credential, (soFar) => heard.push(soFar), signal);
  return heard;
}

describe("what is tried out", () => {
  test("keeps what came of a stream that breaks off, and says that it did", async () => {
    comes("text/event-stream", true);
    expect((await told()).at(-1)).toMatchObject({ status: 200, text: part, cut: undefined });
    comes("text/event-stream", false);
    expect((await told()).at(-1)).toMatchObject({ status: 200, text: part, cut: "broken_off" });
    comes("application/octet-stream", false);
    const document = (await told()).at(-1);
    expect(document).toMatchObject({ status: 200, text: undefined, cut: "broken_off" });
    expect(document?.octets.size).toBe(part.length);
  });

  test("says nothing of a break that the person wanted", async () => {
    comes("text/event-stream", false);
    const heard = await told({}, AbortSignal.abort());
    expect(heard.at(-1)).toMatchObject({ text: part, cut: undefined });
  });

  test.each([["a line\nmore"], ["日本"]])(
    "says which header cannot be sent, and sends nothing: %j",
    async (value) => {
      const headers = { "last-event-id": "7", "idempotency-key": value };
      const said = "Nothing was sent: what is typed for idempotency-key cannot stand in a header.";
      expect(await told({ headers })).toMatchObject([{ status: 0, said }]);
      expect(fetched).not.toHaveBeenCalled();
    },
  );

  test("sends a header that can be sent, and says where nobody answers", async () => {
    comes("text/plain", true);
    await told({ headers: { "last-event-id": "7é" } });
    expect(fetched.mock.calls[0]?.[1]?.headers).toMatchObject({ "last-event-id": "7é" });
    fetched.mockRejectedValueOnce(new TypeError("Failed to fetch"));
    expect(await told()).toMatchObject([{ status: 0, said: noAnswer.sentence }]);
  });
});

const nobody = "http://127.0.0.1:1/";
