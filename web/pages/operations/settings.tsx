/** The configuration in force, where each value comes from, and what waits for a reload. */

import type { Answers } from "#api/answers.ts";
import { hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { isSecretText } from "#web/secret-text.ts";
import { Limits } from "./limits.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Breaking } from "#web/ui/breaking.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { type Column, Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";

type Setting = Answers["config.show"]["settings"][number];

/** `defaults=true` in the address shows what nobody set as well; `q` is part of a key. */
export function SettingsPart() {
  const address = useAddress();
  const defaults = address.query.defaults === "true";
  const { q = "" } = address.query;
  const { reply, refresh } = useAsked("config.show", { defaults }, ["config.*"]);
  const settings = reply?.kind === "answered" ? reply.answer.settings : [];
  const shown = settings.filter(({ path }) => path.includes(q.trim()));
  return (
    <>
      <Heading name="Configuration">
        <label class="check">
          <input
            type="checkbox"
            checked={defaults}
            onChange={({ currentTarget }) =>
              visit(hrefWith(address, { defaults: currentTarget.checked ? "true" : undefined }))
            }
          />
          defaults too
        </label>
        <input
          type="search"
          aria-label="Keys that contain"
          placeholder="Key"
          value={q}
          onInput={({ currentTarget: { value } }) => {
            // An address is kept by browsers and proxies.
            if (!isSecretText(value)) visit(hrefWith(address, { q: value }), { replace: true });
          }}
        />
      </Heading>
      <Limits />
      {reply === undefined && <Waiting />}
      <Outcome reply={reply} again={refresh} />
      {reply?.kind === "answered" && (
        <>
          <div class="scroll">
            <Table
              caption="Keys of the configuration"
              columns={columns}
              rows={shown}
              keyOf={({ path }) => path}
              stacked
            />
          </div>
          <p class="quiet small">
            Secrets are never shown. A change in the file is taken in by{" "}
            <Copy text="systemctl reload pkid" name="command" />, where its key can be.
          </p>
        </>
      )}
    </>
  );
}

const columns: readonly Column<Setting>[] = [
  {
    name: "Key",
    cell: ({ path }) => (
      <span class="mono">
        <Breaking text={path} />
      </span>
    ),
  },
  { name: "Value", value: true, cell: ({ value }) => <Shown value={value} /> },
  { name: "From", cell: ({ origin }) => <Breaking text={origin} /> },
  { name: "Waits", cell: ({ waits }) => waits && <Status word="for a reload" tone="warn" /> },
];

/** A list or a record of some length is opened by whoever wants it. */
function Shown({ value }: { readonly value: unknown }) {
  const text = textOf(value);
  if (text.length <= lineMax || typeof value === "string") {
    return (
      <span class="mono">
        <Breaking text={text} />
      </span>
    );
  }
  return (
    <details>
      <summary>{counted(value)}</summary>
      <pre>{JSON.stringify(value, undefined, 2)}</pre>
    </details>
  );
}

function counted(value: unknown): string {
  const count = Object.keys(Object(value)).length;
  const noun = Array.isArray(value) ? ["entry", "entries"] : ["member", "members"];
  return `${count.toLocaleString("en")} ${noun[count === 1 ? 0 : 1]}`;
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const lineMax = 80;
