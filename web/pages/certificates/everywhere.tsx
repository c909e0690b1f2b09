/** What a search finds in all CAs: each is asked, a few at a time, and shown by itself. */

import { useEffect, useState } from "preact/hooks";
import { hrefOf, hrefWith, type QueryChange } from "#web/address.ts";
import { ask, type Reply, replied } from "#web/api.ts";
import { useAddress, useConsole, useLive } from "#web/console.ts";
import type { Answers } from "#api/answers.ts";
import { Outcome } from "#web/ui/asked.tsx";
import { Table } from "#web/ui/list.tsx";
import { plainText, shortText } from "#web/ui/plain.ts";
import { type Authority, authorityName, isSought } from "./authorities.ts";
import { isFiltered, membersIn } from "./filters.tsx";
import { columns, panelHref } from "./inventory.tsx";

interface EverywhereProps {
  readonly cas: readonly Authority[];
  readonly selected: string | undefined;
}

/** A group for each CA that has what is looked for. */
export function Everywhere({ cas, selected }: EverywhereProps) {
  const address = useAddress();
  const { query } = address;
  const asked = searched(cas);
  const found = useFound(asked, membersIn(query));
  const groups = found.flatMap(({ ca, reply }) =>
    reply.kind === "answered" && reply.answer.total > 0 ? [{ ca, answer: reply.answer }] : [],
  );
  const refused = found.find(({ reply }) => reply.kind === "refused");
  const total = groups.reduce((sum, { answer }) => sum + answer.total, 0);
  const done = found.length === asked.length;
  return (
    <>
      <AuthoritiesFound cas={cas} query={query} />
      {query.q !== undefined && (
        <p>
          <a href={hrefOf(["manual", "chapters"], { q: query.q })}>
            Look for “{shortText(query.q)}” in the manual
          </a>
        </p>
      )}
      {groups.map(({ ca, answer }) => (
        <section key={ca.id} class="list">
          <h2>
            {authorityName(ca)} <span class="quiet small">{answer.total.toLocaleString("en")}</span>
          </h2>
          <div class="scroll">
            <Table
              caption={`Certificates of ${ca.label}`}
              columns={columns}
              rows={answer.items}
              keyOf={({ serial }) => serial}
              hrefOf={(row) => panelHref(row, { ...query, ca: everyCaOf(query) })}
              selected={selected}
            />
          </div>
          {answer.has_more && (
            <p>
              <a href={hrefWith(address, { ca: ca.id, key: undefined })}>
                Show all {answer.total.toLocaleString("en")} of {ca.label}
              </a>
            </p>
          )}
        </section>
      ))}
      <p class="quiet small" role="status">
        {done
          ? `${total.toLocaleString("en")} found in ${asked.length} CAs.`
          : `Asking ${asked.length} CAs… ${found.length} have answered.`}
        {cas.length > casMax && ` Only the newest ${casMax} are asked; choose another one above.`}
      </p>
      {refused && <Refusals found={found} first={refused.reply} />}
      {done && total === 0 && <NothingFound query={query} />}
    </>
  );
}

/** So many that an answer comes soon: the newest ones. */
export const searched = (cas: readonly Authority[]): readonly Authority[] => cas.slice(0, casMax);

/** The address keeps saying which list this is when a row is opened. */
const everyCaOf = ({ ca }: QueryChange): string => String(ca ?? "*");

interface Found {
  readonly ca: Authority;
  readonly reply: Reply<Answers["cert.list"]>;
}

/** The answers that have come, in the order of the CAs. */
function useFound(cas: readonly Authority[], members: QueryChange): readonly Found[] {
  const { credential } = useConsole();
  const [found, setFound] = useState<readonly Found[]>([]);
  const [round, setRound] = useState(0);
  const key = JSON.stringify([members, cas.map(({ id }) => id)]);
  useEffect(() => {
    const stop = new AbortController();
    const come = new Map<string, Found>();
    const waiting = [...cas];
    const work = async () => {
      for (let ca = waiting.shift(); ca !== undefined; ca = waiting.shift()) {
        const asked = { id: ca.id, limit: rowsOfGroup, ...members };
        const reply = await replied(ask("cert.list", asked, credential, stop.signal));
        if (stop.signal.aborted) return;
        come.set(ca.id, { ca, reply });
        setFound(cas.flatMap(({ id }) => come.get(id) ?? []));
      }
    };
    if (round === 0) setFound([]);
    for (let worker = 0; worker < atOnce; worker++) void work();
    return () => stop.abort();
    // `key` stands for the CAs and the members, which are new objects each time.
  }, [key, credential, round]);
  const shown = new Set(
    found.flatMap(({ reply }) =>
      reply.kind === "answered" ? reply.answer.items.map(({ serial }) => serial) : [],
    ),
  );
  // What is shown is kept true; that others come is not told of a search in all CAs.
  useLive(
    ({ serial }) => serial !== undefined && shown.has(serial),
    () => setRound((count) => count + 1),
  );
  return found;
}

interface RefusalsProps {
  readonly found: readonly Found[];
  readonly first: Reply<unknown>;
}

/** The first stands for all: what one CA refuses of a search the others do too, as a rule. */
function Refusals({ found, first }: RefusalsProps) {
  const refused = found.filter(({ reply }) => reply.kind === "refused");
  return (
    <div>
      <p class="small">
        {refused.length} CAs were not searched: {refused.map(({ ca }) => ca.label).join(", ")}.
      </p>
      <Outcome reply={first} />
    </div>
  );
}

interface AuthoritiesFoundProps {
  readonly cas: readonly Authority[];
  readonly query: QueryChange;
}

/** CAs are in no inventory; whoever looks for one by name, serial or key finds it all the same. */
function AuthoritiesFound({ cas, query }: AuthoritiesFoundProps) {
  const found = cas.filter((ca) => isSought(ca, query));
  if (found.length === 0) return null;
  return (
    <section>
      <h2>Certificate authorities</h2>
      <ul class="plain">
        {found.slice(0, rowsOfGroup).map((ca) => (
          <li key={ca.id}>
            <a href={hrefOf(["authorities", ca.id], { tenant: query.tenant })}>
              {authorityName(ca)}
            </a>{" "}
            <span class="quiet">{plainText(ca.subject)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function NothingFound({ query }: { readonly query: QueryChange }) {
  const { q, key, public_key_sha256, tenant } = query;
  return (
    <div class="empty">
      <p>{isFiltered(query) ? "No certificate here fits." : "There is no certificate yet."}</p>
      {key !== undefined && (
        <>
          <p>
            The certificate of that file was not issued here. Its key may have others that were.
          </p>
          <a class="button" href={hrefOf(["certificates"], { public_key_sha256: key, tenant })}>
            Look for its key
          </a>
        </>
      )}
      {public_key_sha256 !== undefined && (
        <p class="quiet">
          Fingerprints are looked for as those of keys. A certificate with another fingerprint is
          found by its serial, or by dropping its file anywhere on this page.
        </p>
      )}
      {q !== undefined && key === undefined && (
        <p>
          <a href={hrefOf(["manual"], { q })}>Look in the manual for “{shortText(String(q))}”</a>
        </p>
      )}
    </div>
  );
}

const rowsOfGroup = 5;
const casMax = 40;
const atOnce = 4;
