/** Asks an operation with what is typed, as who one is, and shows what comes back. */

import { useState } from "preact/hooks";
import { type Credential, proof } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { TextField } from "#web/ui/fields.tsx";
import { Field } from "#web/ui/form.tsx";
import type { DescribedOperation } from "./openapi.ts";

interface CameBack {
  readonly status: number;
  readonly said: string;
  readonly text: string;
}

/** What changes something says so first, and is no default of a key. */
export function TryOut({ operation }: { readonly operation: DescribedOperation }) {
  const { credential } = useConsole();
  const { method, path, parameters, body } = operation;
  const [given, setGiven] = useState<Given>({});
  const [json, setJson] = useState(() =>
    body?.example === undefined ? "{}" : JSON.stringify(body.example, null, 2),
  );
  const [came, setCame] = useState<CameBack>();
  const [busy, setBusy] = useState(false);
  const reads = method === "GET";
  const ask = async () => {
    setBusy(true);
    const init = requestOf(credential, method, body === undefined ? undefined : json);
    setCame(await cameBack(addressIn(path, parameters, given), init));
    setBusy(false);
  };
  return (
    <section class="card" aria-label="Try it">
      <h2>Try it</h2>
      {!reads && <p class="warn">This asks this very instance, and may change it.</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (reads) void ask();
        }}
      >
        <Parameters parameters={parameters} given={given} onChange={setGiven} />
        {body !== undefined && (
          <Field label="Body, JSON">
            {(control) => (
              <textarea
                {...control}
                value={json}
                onInput={({ currentTarget }) => setJson(currentTarget.value)}
              />
            )}
          </Field>
        )}
        <div class="buttons">
          <button
            type={reads ? "submit" : "button"}
            class={`button ${reads ? "primary" : "danger"}`}
            disabled={busy}
            onClick={reads ? undefined : () => void ask()}
          >
            {busy ? "Asking…" : `${method} it`}
          </button>
        </div>
      </form>
      {came && <Came came={came} />}
    </section>
  );
}

type Given = Readonly<Record<string, string>>;

interface ParametersProps {
  readonly parameters: DescribedOperation["parameters"];
  readonly given: Given;
  readonly onChange: (given: Given) => void;
}

const Parameters = ({ parameters, given, onChange }: ParametersProps) => (
  <>
    {parameters.map(({ name, required }) => (
      <TextField
        key={name}
        label={required ? name : `${name} (may be left out)`}
        value={given[name] ?? ""}
        onChange={(value) => onChange({ ...given, [name]: value })}
      />
    ))}
  </>
);

const Came = ({ came: { status, said, text } }: { readonly came: CameBack }) => (
  <div role="status">
    <p class={status < 400 && status > 0 ? "good" : "bad"}>
      {status} {said}
    </p>
    <pre>{text}</pre>
  </div>
);

const requestOf = (
  credential: Credential,
  method: string,
  body: string | undefined,
): RequestInit => ({
  method,
  headers: {
    "x-requested-with": "pkid-console",
    ...(method === "GET" ? {} : { "content-type": "application/json" }),
    ...proof(credential, method),
  },
  ...(method === "GET" || body === undefined ? {} : { body }),
  credentials: credential.kind === "session" ? "same-origin" : "omit",
  signal: AbortSignal.timeout(60_000),
});

async function cameBack(address: string, init: RequestInit): Promise<CameBack> {
  try {
    const response = await fetch(address, init);
    const text = await response.text();
    return { status: response.status, said: response.statusText, text: shown(text) };
  } catch {
    // `fetch` says nothing of why no answer came.
    return { status: 0, said: "The server does not answer.", text: "" };
  }
}

function shown(text: string): string {
  const cut = text.slice(0, shownMax);
  try {
    return cut.length < text.length ? `${cut}…` : JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return cut; // A document that is no JSON is shown as it is.
  }
}

/** The path with its members, and the query of what was given; empty ones are left out. */
export function addressIn(
  path: string,
  parameters: DescribedOperation["parameters"],
  given: Given,
): string {
  const filled = path.replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(given[name] ?? ""),
  );
  const query = new URLSearchParams(
    parameters
      .filter(({ place, name }) => place === "query" && (given[name] ?? "") !== "")
      .map(({ name }) => [name, given[name] ?? ""]),
  ).toString();
  return query === "" ? filled : `${filled}?${query}`;
}

const shownMax = 100_000;
