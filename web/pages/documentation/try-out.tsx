/** Asks an operation with what is typed, as who one is, and shows what comes back. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Credential } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { Copy } from "#web/ui/copy.tsx";
import { save } from "#web/ui/download.tsx";
import { TextField } from "#web/ui/fields.tsx";
import { FileField } from "#web/ui/file-field.tsx";
import { Field } from "#web/ui/form.tsx";
import { type Heard, listened, type Wanted } from "./tried.ts";
import type { DescribedOperation } from "./openapi.ts";
import { veiled } from "./secrets.ts";

interface TryOutProps {
  readonly operation: DescribedOperation;
}

/** One that only sends the browser on is followed by a link, for a page may not look elsewhere. */
export function TryOut({ operation }: TryOutProps) {
  return (
    <section class="card" aria-label="Try it">
      <h2>Try it</h2>
      {operation.sendsOn ? (
        <p>
          This sends the browser elsewhere: <a href={operation.path}>{operation.path}</a>.
        </p>
      ) : (
        <TryForm operation={operation} />
      )}
    </section>
  );
}

/** What changes something says so first, and is no default of a key. */
function TryForm({ operation }: TryOutProps) {
  const { method, path, parameters, body } = operation;
  const [given, setGiven] = useState<Given>({});
  const [content, setContent] = useState<string | Blob>(() => exampleOf(body));
  const { ask, stop, busy, heard } = useTried(operation);
  const reads = method === "GET";
  const send = () =>
    void ask({
      method,
      address: addressIn(path, parameters, given),
      headers: headersIn(parameters, given),
      body: body === undefined ? undefined : { type: body.type, content },
    });
  return (
    <>
      {!reads && <p class="warn">This asks this very instance, and may change it.</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (reads && !busy) send();
        }}
      >
        <Parameters parameters={parameters} given={given} onChange={setGiven} />
        {body !== undefined && <Body body={body} content={content} onContent={setContent} />}
        <div class="buttons">
          {busy && (
            <button type="button" class="button plain" onClick={stop}>
              Stop
            </button>
          )}
          <button
            type={reads ? "submit" : "button"}
            class={`button ${reads ? "primary" : "danger"}`}
            disabled={busy}
            onClick={reads ? undefined : send}
          >
            {busy ? "Asking…" : `${method} it`}
          </button>
        </div>
      </form>
      {heard && <Came heard={heard} name={operation.name} />}
    </>
  );
}

type TakenBody = NonNullable<DescribedOperation["body"]>;

const isJson = ({ type }: TakenBody): boolean => type === "application/json";

function exampleOf(body: DescribedOperation["body"]): string | Blob {
  if (body === undefined) return "";
  if (!isJson(body)) return new Blob();
  return body.example === undefined ? "{}" : JSON.stringify(body.example, null, 2);
}

interface BodyProps {
  readonly body: TakenBody;
  readonly content: string | Blob;
  readonly onContent: (content: string | Blob) => void;
}

/** JSON is typed; a message of another kind is a file. */
function Body({ body, content, onContent }: BodyProps) {
  if (typeof content !== "string") {
    const hint = `Sent as it is, as ${body.type}.`;
    return <FileField label="Body, a file" accept="" hint={hint} onFile={onContent} />;
  }
  return (
    <Field label="Body, JSON">
      {(control) => (
        <textarea
          {...control}
          value={content}
          onInput={({ currentTarget }) => onContent(currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Asks once at a time, again once the person has confirmed it where the server wants that. */
function useTried({ name, needs }: DescribedOperation) {
  const { credential } = useConsole();
  const [heard, setHeard] = useState<Heard>();
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const once = async (wanted: Wanted): Promise<Heard | undefined> => {
    let last: Heard | undefined;
    const stopped = new AbortController();
    running.current = stopped;
    const told = (soFar: Heard) => {
      last = soFar;
      setHeard(soFar);
    };
    await listened(wanted, credential, told, stopped.signal);
    return last;
  };
  const ask = async (wanted: Wanted) => {
    setBusy(true);
    setHeard(undefined);
    const first = await once(wanted);
    if (await isConfirmed(first, credential, name)) await once(wanted);
    // What needs no credential has answers of its own to whoever shows another one.
    else if (first?.status === 401 && needs !== "pub" && codeIn(first) !== "step_up_failed") {
      credential.onEnd();
    }
    setBusy(false);
  };
  return { ask, heard, busy, stop: () => running.current?.abort() };
}

const isConfirmed = async (
  heard: Heard | undefined,
  credential: Credential,
  name: string,
): Promise<boolean> =>
  credential.kind === "session" &&
  codeIn(heard) === "step_up_required" &&
  (await credential.confirm(name));

function codeIn(heard: Heard | undefined): unknown {
  if (heard?.text === undefined || heard.status < 400) return undefined;
  try {
    const told: unknown = JSON.parse(heard.text);
    return typeof told === "object" && told !== null && "code" in told ? told.code : undefined;
  } catch {
    return undefined; // A refusal of a protocol of its own has no code of ours.
  }
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

interface CameProps {
  readonly heard: Heard;
  readonly name: string;
}

function Came({ heard: { status, said, type, text, octets, cut }, name }: CameProps) {
  return (
    <>
      <p role="status" class={status < 400 && status > 0 ? "good" : "bad"}>
        {status > 0 && `${status} `}
        {said}
      </p>
      {text === undefined && (
        <p>
          {octets.size.toLocaleString("en")} octets of <code>{type}</code>.
        </p>
      )}
      {cut !== undefined && <p class="warn">{cutWords[cut]}</p>}
      {text !== undefined && text !== "" && <Text key={text} text={text} />}
      {octets.size > 0 && (
        <div class="buttons">
          <button type="button" class="button plain" onClick={() => save(name, octets)}>
            Save what came
          </button>
        </div>
      )}
    </>
  );
}

/** A secret in it is hidden until somebody asks for it, and can be copied unseen. */
function Text({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(false);
  const { text: safe, secrets } = useMemo(() => veiled(text), [text]);
  if (safe === text) return <pre>{text}</pre>;
  return (
    <>
      <p class="warn">
        <span aria-hidden="true">◐ </span>
        It has a secret that is answered this once: keep it before you leave this page.
      </p>
      <pre>{shown ? text : safe}</pre>
      <div class="buttons">
        <button
          type="button"
          class="button"
          aria-pressed={shown}
          onClick={() => setShown((was) => !was)}
        >
          Show what is secret
        </button>
        {secrets.map(({ member, value }) => (
          <Copy key={member} text={value} name={member}>
            copy {member}
          </Copy>
        ))}
      </div>
    </>
  );
}

const cutWords = {
  too_long: "More came than a page can keep; it was stopped there.",
  broken_off: "It broke off; this is what came until then.",
} as const;

/** The path with its members, and the query of what was given; empty ones are left out. */
export function addressIn(
  path: string,
  parameters: DescribedOperation["parameters"],
  given: Given,
): string {
  const filled = path.replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(given[name] ?? ""),
  );
  const query = new URLSearchParams(givenAt("query", parameters, given)).toString();
  return query === "" ? filled : `${filled}?${query}`;
}

const headersIn = (parameters: DescribedOperation["parameters"], given: Given) =>
  Object.fromEntries(givenAt("header", parameters, given));

const givenAt = (
  where: "query" | "header",
  parameters: DescribedOperation["parameters"],
  given: Given,
): [string, string][] =>
  parameters
    .filter(({ place, name }) => place === where && (given[name] ?? "") !== "")
    .map(({ name }) => [name, given[name] ?? ""]);
