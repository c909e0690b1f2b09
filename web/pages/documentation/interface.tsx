/** The HTTP interface as the server describes it, each operation to try out as who one is. */

import { useEffect, useState } from "preact/hooks";
import { hrefOf, hrefWith, visit } from "#web/address.ts";
import { fetched, pathOf, type Reply, replied } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { isSecretText } from "#web/secret-text.ts";
import { Outcome, Waiting } from "#web/ui/asked.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { type DescribedOperation, operationsIn, type Parameter } from "./openapi.ts";
import { TryOut } from "./try-out.tsx";

interface InterfacePartProps {
  /** Of the operation that is open. */
  readonly name: string | undefined;
}

export function InterfacePart({ name }: InterfacePartProps) {
  const { reply, again } = useDescription();
  const address = useAddress();
  const { q = "" } = address.query;
  if (reply === undefined) return <Waiting />;
  if (reply.kind !== "answered") return <NotCome reply={reply} again={again} />;
  const described = reply.answer;
  const chosen = described.find((one) => one.name === name);
  const words = q.trim().toLowerCase();
  const shown = described.filter(({ name, path, summary }) =>
    `${name} ${path} ${summary}`.toLowerCase().includes(words),
  );
  return (
    <>
      <Heading name={chosen === undefined ? "HTTP interface" : chosen.name}>
        <input
          type="search"
          aria-label="Operations that contain"
          placeholder="Search operations"
          value={q}
          onInput={({ currentTarget: { value } }) => {
            // An address is kept by browsers and proxies.
            if (!isSecretText(value)) visit(hrefWith(address, { q: value }), { replace: true });
          }}
        />
      </Heading>
      <div class="manual">
        <nav class="contents" aria-label="Operations">
          {shown.map(({ name: one, method, path }) => (
            <a
              key={one}
              href={hrefOf(["manual", "interface", one], { q })}
              aria-current={one === name ? "page" : undefined}
            >
              <span class="mono small">{method}</span> {path}
            </a>
          ))}
          {shown.length === 0 && <p class="quiet">No operation has that.</p>}
        </nav>
        {chosen === undefined ? (
          <p>
            {name !== undefined && `There is no operation “${name}”. `}Choose an operation. The
            description itself is at <a href={pathOf("openapi.read")}>{pathOf("openapi.read")}</a>,
            and for reading at <a href={pathOf("openapi.page")}>{pathOf("openapi.page")}</a>.
          </p>
        ) : (
          <article key={chosen.name}>
            <Shown operation={chosen} />
          </article>
        )}
      </div>
    </>
  );
}

function Shown({ operation }: { readonly operation: DescribedOperation }) {
  const { method, path, summary, needs, parameters, body, answers } = operation;
  return (
    <>
      <p>{summary}</p>
      <p class="mono">
        {method} {path}
      </p>
      <p class="quiet">
        {needs === "pub"
          ? "Needs no credential."
          : needs === "any"
            ? "Needs any credential."
            : `Needs ${needs}.`}
      </p>
      {parameters.length > 0 && (
        <>
          <h2>Parameters</h2>
          <dl>
            {parameters.map((parameter) => (
              <Said key={parameter.name} parameter={parameter} />
            ))}
          </dl>
        </>
      )}
      {body !== undefined && (
        <details>
          <summary>Shape of the body</summary>
          <pre>{JSON.stringify(body.schema, null, 2)}</pre>
        </details>
      )}
      <details>
        <summary>Answers</summary>
        <dl>
          {answers.map(({ status, description, schema }) => (
            <>
              <dt class="mono">{status}</dt>
              <dd>
                {description}
                {schema !== undefined && <pre>{JSON.stringify(schema, null, 2)}</pre>}
              </dd>
            </>
          ))}
        </dl>
      </details>
      <TryOut operation={operation} />
    </>
  );
}

const Said = ({
  parameter: { name, place, required, schema },
}: {
  readonly parameter: Parameter;
}) => (
  <>
    <dt class="mono">{name}</dt>
    <dd>
      {place}
      {required ? "" : ", may be left out"} <code>{JSON.stringify(schema)}</code>
    </dd>
  </>
);

interface NotComeProps {
  readonly reply: Reply<unknown>;
  readonly again: () => void;
}

const NotCome = ({ reply, again }: NotComeProps) => (
  <>
    <Heading name="HTTP interface" />
    <Outcome reply={reply} />
    <button type="button" class="button plain" onClick={again}>
      Ask again
    </button>
  </>
);

/** Asked for once, and when told to; without a reply until one has come. */
function useDescription() {
  const [reply, setReply] = useState<Reply<readonly DescribedOperation[]>>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setReply(undefined);
    void replied(described(stop.signal)).then((come) => {
      if (!stop.signal.aborted) setReply(come);
    });
    return () => stop.abort();
  }, [round]);
  return { reply, again: () => setRound((count) => count + 1) };
}

async function described(signal: AbortSignal): Promise<Reply<readonly DescribedOperation[]>> {
  const reply = await fetched(pathOf("openapi.read"), undefined, signal);
  if (reply.kind !== "answered") return reply;
  return { kind: "answered", answer: operationsIn(JSON.parse(await reply.answer.text())) };
}
