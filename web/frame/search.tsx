/** The one search box: names, serials and keys lead to the certificates that have them. */

import { useState } from "preact/hooks";
import { hrefOf, visit } from "#web/address.ts";

/** `/` focuses it. */
export function SearchBox() {
  const [text, setText] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const sought = text.trim();
    if (sought !== "") visit(hrefOf(["certificates"], queryOf(sought)));
  };
  return (
    <search class="search">
      <form onSubmit={submit}>
        <input
          id="search"
          type="search"
          aria-label="Search certificates by name, serial or key"
          placeholder="Search name, serial, key"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </form>
    </search>
  );
}

/** A fingerprint selects by the key; everything else is looked for in names and serials. */
export const queryOf = (sought: string): Readonly<Record<string, string>> =>
  isFingerprint(sought) ? { public_key_sha256: sought } : { q: sought };

const isFingerprint = (text: string): boolean =>
  /^SHA256:[A-Za-z0-9+/_-]{43}=?$/i.test(text) ||
  /^[0-9a-f]{64}$/i.test(text.replace(/[:\s]/g, ""));
