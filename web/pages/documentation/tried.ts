/** Asks whatever is told to and shows what comes back as it comes: text, octets, or a stream. */

import { type Credential, noAnswer, proof } from "#web/api.ts";

/** What was heard of an answer so far. */
export interface Heard {
  /** 0 where no answer came. */
  readonly status: number;
  readonly said: string;
  /** The media type, without its parameters. */
  readonly type: string;
  /** The beginning, where the type is one of text. */
  readonly text: string | undefined;
  readonly octets: Blob;
  /** Why the rest is not here: it is more than is kept, or it never came. */
  readonly cut: "too_long" | "broken_off" | undefined;
}

export interface Wanted {
  readonly method: string;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  /** With its media type. */
  readonly body: { readonly type: string; readonly content: string | Blob } | undefined;
}

/** Tells each part as it comes, and ends with the answer, when stopped, or when enough came. */
export async function listened(
  { method, address, headers, body }: Wanted,
  credential: Credential,
  told: (soFar: Heard) => void,
  signal: AbortSignal,
): Promise<void> {
  const nothing = { type: "", octets: new Blob(), text: "", cut: undefined };
  const unsendable = Object.entries(headers).find((header) => !isSendable(header));
  if (unsendable !== undefined) {
    return told({ ...nothing, status: 0, said: unsendableWords(unsendable[0]) });
  }
  try {
    const response = await fetch(address, {
      method,
      headers: {
        ...headers,
        "x-requested-with": "pkid-console",
        ...(method === "GET" ? {} : { "content-type": body?.type ?? "application/json" }),
        ...proof(credential, method),
      },
      ...(method === "GET" || body === undefined ? {} : { body: body.content }),
      credentials: credential.kind === "session" ? "same-origin" : "omit",
      signal,
    });
    await read(response, told, signal);
  } catch {
    // `fetch` says nothing of why no answer came; one that was stopped stays as far as it came.
    if (!signal.aborted) told({ ...nothing, status: 0, said: noAnswer.sentence });
  }
}

/** Whether `fetch` takes it: a header has no letters but those of Latin, and no lines. */
function isSendable(header: [name: string, value: string]): boolean {
  try {
    return new Headers([header]).has(header[0]);
  } catch {
    return false; // That is the answer: it names no reason beside it.
  }
}

const unsendableWords = (name: string): string =>
  `Nothing was sent: what is typed for ${name} cannot stand in a header.`;

async function read(
  response: Response,
  told: (soFar: Heard) => void,
  signal: AbortSignal,
): Promise<void> {
  const { status, statusText: said, headers } = response;
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
  let octets = new Blob([], { type });
  const tell = async (cut: Heard["cut"]) => {
    const isText = type === "" || /^text\/|json|xml|pem/.test(type);
    const text = isText ? await textOf(octets) : undefined;
    told({ status, said, type, text, octets, cut });
  };
  await tell(undefined);
  try {
    for await (const part of response.body ?? []) {
      octets = new Blob([octets, part], { type });
      // Leaving the loop ends the answer as well.
      if (octets.size > keptMax) return await tell("too_long");
      if (type === "text/event-stream") await tell(undefined);
    }
  } catch {
    // Nor does a stream say why it broke; what came of it has come.
    if (!signal.aborted) await tell("broken_off");
    return;
  }
  await tell(undefined);
}

/** JSON in lines, all else as it is; not more than a page can show. */
async function textOf(octets: Blob): Promise<string> {
  const text = await octets.slice(0, shownMax).text();
  if (octets.size > shownMax) return `${text}…`;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // A document that is no JSON is shown as it is.
  }
}

const shownMax = 100_000;
const keptMax = 32 * 1024 * 1024;
