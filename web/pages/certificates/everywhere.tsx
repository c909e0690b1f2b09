/** What a search finds in all CAs: each that has some is a group, and it says how far it looked. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { hrefOf, hrefWith, type QueryChange, visit } from "#web/address.ts";
import { useAddress, useConsole, useLive } from "#web/console.ts";
import { Outcome, useAsked } from "#web/ui/asked.tsx";
import { wordsOf } from "#web/ui/ca-choice.tsx";
import { Table } from "#web/ui/list.tsx";
import { plainText, shortText } from "#web/ui/plain.ts";
import type { Authority } from "./authorities.ts";
import { isFiltered, membersIn } from "./filters.tsx";
import { columns, panelHref } from "./inventory.tsx";
import { NoAuthority } from "./no-authority.tsx";
import { CaSearch, type Found, type Group, nothingFound } from "./search-cas.ts";

/** `looked=…` in the address says how many CAs are looked in: a number, or `all`. */
export function Everywhere({ selected }: { readonly selected: string | undefined }) {
  const { query } = useAddress();
  const found = useFound();
  const { groups, own, refused, state } = found;
  const nothing = state === "over" && found.unlisted === undefined && groups.length === 0;
  useKeyInstead(nothing && own.length === 0 && refused.length === 0);
  if (nothing && found.cas === 0) return <NoAuthority />;
  return (
    <>
      <AuthoritiesFound own={own} query={query} />
      {query.q !== undefined && (
        <p>
          <a href={hrefOf(["manual", "chapters"], { q: query.q })}>
            Look for “{shortText(query.q)}” in the manual
          </a>
        </p>
      )}
      {groups.slice(0, groupsMax).map((group) => (
        <GroupTable key={group.ca.id} group={group} selected={selected} />
      ))}
      <Others groups={groups.slice(groupsMax)} />
      <Progress found={found} />
      {refused.length > 0 && <Refusals refused={refused} />}
      <Outcome reply={found.unlisted} />
      {nothing && own.length === 0 && <NothingFound query={query} />}
    </>
  );
}

interface GroupTableProps {
  readonly group: Group;
  readonly selected: string | undefined;
}

function GroupTable({ group: { ca, answer }, selected }: GroupTableProps) {
  const { query } = useAddress();
  return (
    <section class="list">
      <h2>
        {wordsOf(ca)} <span class="quiet small">{answer.total.toLocaleString("en")}</span>
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
          <ShowAll ca={ca} total={answer.total} />
        </p>
      )}
    </section>
  );
}

interface ShowAllProps {
  readonly ca: Authority;
  readonly total: number;
}

function ShowAll({ ca, total }: ShowAllProps) {
  const address = useAddress();
  return (
    <a href={hrefWith(address, { ca: ca.id, key: undefined, looked: undefined })}>
      Show all {total.toLocaleString("en")} of {ca.label}
    </a>
  );
}

/** Beyond so many tables a line for each: a search that nearly everything fits stays readable. */
function Others({ groups }: { readonly groups: readonly Group[] }) {
  if (groups.length === 0) return null;
  return (
    <section>
      <h2>In other CAs too</h2>
      <ul class="plain">
        {groups.map(({ ca, answer }) => (
          <li key={ca.id}>
            <ShowAll ca={ca} total={answer.total} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How far it is, with the way to stop it and to go on. */
function Progress({ found }: { readonly found: Found }) {
  const address = useAddress();
  const { looked, cas = 0, state } = found;
  const goTo = (how: number | "all") => () =>
    visit(hrefWith(address, { looked: how }), { replace: true });
  return (
    <div class="buttons">
      <p class="quiet small" role="status">
        {progressWords(found)}
      </p>
      {/* One button for both, so that whoever pressed it keeps the focus. */}
      {(state === "paused" || (state === "running" && cas > looked)) && (
        <button
          type="button"
          class="button"
          onClick={goTo(state === "paused" ? "all" : Math.max(looked, 1))}
        >
          {state === "paused" ? "Look in the others too" : "Stop"}
        </button>
      )}
    </div>
  );
}

function progressWords({ groups, looked, cas, unlisted, state }: Found): string {
  if (state === "running" && cas === undefined) return "Asking…";
  const through = looked.toLocaleString("en");
  const of = `${through} of ${(cas ?? 0).toLocaleString("en")} CAs`;
  if (state === "running") return `Looked in ${of}…`;
  const sum = groups.reduce((total, { answer }) => total + answer.total, 0);
  const found = `${sum.toLocaleString("en")} found in`;
  if (state === "paused") return `${found} ${of}, the newest.`;
  if (unlisted !== undefined) return `${found} ${of}; the others could not be listed.`;
  return `${found} ${through} CAs.`;
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

/** The address keeps saying which list this is when a row is opened. */
const everyCaOf = ({ ca }: QueryChange): string => String(ca ?? "*");

/** What the search that the address means has found by now. */
function useFound(): Found {
  const { credential, feed } = useConsole();
  const { query } = useAddress();
  const { tenant, key, looked } = query;
  const members = membersIn(query);
  const [known, setKnown] = useState<{ readonly of: CaSearch; readonly found: Found }>();
  const search = useMemo(() => {
    const asking = { members, query: { ...members, key }, tenant, credential };
    const made: CaSearch = new CaSearch(asking, (found) => setKnown({ of: made, found }));
    return made;
    // `members` is a new object each time.
  }, [JSON.stringify(members), key, tenant, credential]);
  useEffect(() => () => search.close(), [search]);
  useEffect(() => search.until(boundOf(looked)), [search, looked]);
  useEffect(() => {
    // What is shown is kept true; that others come is not told of a search in all CAs.
    const touched = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = feed.listen({
      onEvents: (events) => {
        for (const { ca_id, serial } of events) {
          if (ca_id !== undefined && search.shows(ca_id, serial)) touched.add(ca_id);
        }
        if (touched.size === 0) return;
        timer ??= setTimeout(() => {
          timer = undefined;
          search.again(new Set(touched));
          touched.clear();
        }, againMs);
      },
    });
    return () => {
      leave();
      clearTimeout(timer);
    };
  }, [feed, search]);
  // Of what was missed, and of what this page has done itself, nobody says which CA it concerns.
  useLive(
    () => false,
    (why) => (why === "polled" ? search.poll(groupsMax) : search.again()),
  );
  return known?.of === search ? known.found : nothingFound;
}

/** In how many CAs; the first ones by themselves, since an answer to that comes soon. */
function boundOf(looked: string | undefined): number {
  if (looked === "all") return Number.MAX_SAFE_INTEGER;
  return looked !== undefined && /^\d{1,9}$/.test(looked) ? Number(looked) : firstMax;
}

/** The first stands for all: what one CA refuses of a search the others do too, as a rule. */
function Refusals({ refused }: Pick<Found, "refused">) {
  const named = refused.slice(0, namesMax).map(({ ca }) => ca.label);
  return (
    <div>
      <p class="small">
        {refused.length.toLocaleString("en")} CAs were not searched: {named.join(", ")}
        {refused.length > namesMax && ` and ${refused.length - namesMax} more`}.
      </p>
      <Outcome reply={refused[0]?.reply} />
    </div>
  );
}

interface AuthoritiesFoundProps {
  readonly own: readonly Authority[];
  readonly query: QueryChange;
}

/**
 * CAs are in no inventory; whoever looks for one by name, serial or key finds it all the same. By
 * name the server knows all of them, else those that were looked at.
 */
function AuthoritiesFound({ own, query }: AuthoritiesFoundProps) {
  const { tenant } = useAddress().query;
  const q = typeof query.q === "string" ? query.q : undefined;
  const asked = q === undefined ? undefined : { q, tenant, limit: namesMax };
  const { reply } = useAsked("ca.list", asked, ["ca.*"]);
  const named = reply?.kind === "answered" && q !== undefined ? reply.answer : undefined;
  const others = own.filter(({ id }) => named?.items.every((one) => one.id !== id) ?? true);
  const found = (named?.items ?? []).concat(others);
  const more = Math.max(found.length, named?.total ?? 0) - namesMax;
  if (found.length === 0) return null;
  return (
    <section>
      <h2>Certificate authorities</h2>
      <ul class="plain">
        {found.slice(0, namesMax).map((ca) => (
          <li key={ca.id}>
            <a href={hrefOf(["authorities", ca.id], { tenant })}>{wordsOf(ca)}</a>{" "}
            <span class="quiet">{plainText(ca.subject)}</span>
          </li>
        ))}
      </ul>
      {more > 0 && named?.has_more === true && (
        <p>
          <a href={hrefOf(["authorities"], { q, tenant })}>
            All {named.total.toLocaleString("en")} of this name
          </a>
        </p>
      )}
      {more > 0 && named?.has_more !== true && (
        <p class="quiet small">{more.toLocaleString("en")} more fit; type more of it.</p>
      )}
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

/** CAs that are looked in by themselves: a second or two. */
const firstMax = 200;
/** Groups that are drawn as tables. */
const groupsMax = 50;
const namesMax = 5;
const againMs = 500;
