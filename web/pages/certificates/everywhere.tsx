/** What a search finds in all CAs: each is asked, a few at a time, and shown by itself. */

import { useEffect, useState } from "preact/hooks";
import { hrefOf, hrefWith, type QueryChange, visit } from "#web/address.ts";
import { ask, type Reply, replied } from "#web/api.ts";
import { useAddress, useConsole, useLive } from "#web/console.ts";
import type { Answers } from "#api/answers.ts";
import { Outcome } from "#web/ui/asked.tsx";
import { Table } from "#web/ui/list.tsx";
import { plainText, shortText } from "#web/ui/plain.ts";
import { type Authority, authoritiesOfDigest, authorityName, isSought } from "./authorities.ts";
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
  const own = useOfDigest(cas, query.certificate_sha256);
  const nothing = done && total === 0;
  useKeyInstead(nothing && own?.length === 0 && refused === undefined);
  return (
    <>
      <AuthoritiesFound
        found={cas.filter((ca) => own?.includes(ca.id) || isSought(ca, query))}
        query={query}
      />
      {query.q !== undefined && (
        <p>
          <a href={hrefOf(["manual", "chapters"], { q: query.q })}>
            Look for “{shortText(query.q)}” in the manual
          </a>
        </p>
      )}
      {groups.map(({ ca, answer }) => (
        <Group key={ca.id} ca={ca} answer={answer} selected={selected} />
      ))}
      <p class="quiet small" role="status">
        {done
          ? `${total.toLocaleString("en")} found in ${asked.length} CAs.`
          : `Asking ${asked.length} CAs… ${found.length} have answered.`}
        {cas.length > casMax && ` Only the newest ${casMax} are asked; choose another one above.`}
      </p>
      {refused && <Refusals found={found} first={refused.reply} />}
      {nothing && own?.length === 0 && <NothingFound query={query} />}
    </>
  );
}

interface GroupProps {
  readonly ca: Authority;
  readonly answer: Answers["cert.list"];
  readonly selected: string | undefined;
}

function Group({ ca, answer, selected }: GroupProps) {
  const address = useAddress();
  const { query } = address;
  return (
    <section class="list">
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
  );
}

/**
 * What is pasted does not say what it is the fingerprint of: where it is that of no certificate,
 * the address goes on to that of a key.
 */
function useKeyInstead(isOfNone: boolean): void {
  const address = useAddress();
  const { certificate_sha256: digest, key } = address.query;
  useEffect(() => {
    if (!isOfNone || digest === undefined || key === undefined) return;
    const change = { certificate_sha256: undefined, key: undefined, public_key_sha256: key };
    visit(hrefWith(address, change), { replace: true });
  }, [isOfNone, digest, key, address]);
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
  const [kept, setKept] = useState<{ readonly of: string; readonly found: readonly Found[] }>();
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
        setKept({ of: key, found: cas.flatMap(({ id }) => come.get(id) ?? []) });
      }
    };
    for (let worker = 0; worker < atOnce; worker++) void work();
    return () => stop.abort();
    // `key` stands for the CAs and the members, which are new objects each time.
  }, [key, credential, round]);
  // Answers to what was asked before say nothing of this.
  const found = kept?.of === key ? kept.found : [];
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

/**
 * The ids of the CAs whose own certificate has the SHA-256 that is looked for; undefined until all
 * of them have been digested.
 */
function useOfDigest(
  cas: readonly Authority[],
  digest: string | undefined,
): readonly string[] | undefined {
  const [known, setKnown] = useState<{
    readonly digest: string;
    readonly ids: readonly string[];
  }>();
  useEffect(() => {
    if (digest === undefined) return;
    let current = true;
    const take = (ids: readonly string[]) => current && setKnown({ digest, ids });
    authoritiesOfDigest(cas, digest).then(take, () => take([]));
    return () => {
      current = false;
    };
  }, [cas, digest]);
  if (digest === undefined) return [];
  return known?.digest === digest ? known.ids : undefined;
}

interface AuthoritiesFoundProps {
  readonly found: readonly Authority[];
  readonly query: QueryChange;
}

/** CAs are in no inventory; whoever looks for one by name, serial or key finds it all the same. */
function AuthoritiesFound({ found, query }: AuthoritiesFoundProps) {
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
  const { q, key, public_key_sha256, certificate_sha256, tenant } = query;
  return (
    <div class="empty">
      <p>{isFiltered(query) ? "No certificate here fits." : "There is no certificate yet."}</p>
      {key !== undefined && certificate_sha256 === undefined && (
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
          No key here has this fingerprint. In the search box it is looked for as that of a
          certificate first.
        </p>
      )}
      {certificate_sha256 !== undefined && (
        <p class="quiet">
          No certificate here has this SHA-256. One that was pruned is found by its serial alone.
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
