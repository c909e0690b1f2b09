/** Files for the person: documents of the server and what the page itself has made. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { fetched, type Reply, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { Outcome } from "./asked.tsx";

/** Hands a file to the browser, which saves it under the name. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has read it by then, or never will.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

interface DownloadProps {
  /** The address of an operation that gives a document: `addressOf(…)`. */
  readonly path: string;
  readonly file: string;
  /** Plain in a row of others. */
  readonly look?: "plain" | "outlined";
  readonly children: ComponentChildren;
}

/** A button that asks for a document with the caller's credential, and saves it. */
export function Download({ path, file, look = "outlined", children }: DownloadProps) {
  const { credential } = useConsole();
  const [reply, setReply] = useState<Reply<Blob>>();
  const load = async () => {
    const come = await replied(fetched(path, credential, AbortSignal.timeout(120_000)));
    setReply(come);
    if (come.kind === "answered") save(file, come.answer);
  };
  return (
    <>
      <button type="button" class={`button ${look}`} onClick={() => void load()}>
        {children}
      </button>
      <Outcome reply={reply} again={() => void load()} />
    </>
  );
}
