/** The tenant whose things the lists show; a link for each, so that it is in the address. */

import { useEffect, useRef, useState } from "preact/hooks";
import { type Address, visit } from "#web/address.ts";
import { type Tenant, useConsole } from "#web/console.ts";
import { searching } from "#web/ui/finder.tsx";
import {
  type FoundTenants,
  isSlug,
  isTenant,
  tenantsSeen,
  useFoundTenants,
} from "#web/ui/tenants.ts";
import { tenantHref } from "./tenant-href.ts";

/** A menu that the choice, `Esc` and whatever else is pressed close. */
export function TenantChoice() {
  const { tenants, address } = useConsole();
  const menu = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  const { tenant: chosen = "" } = address.query;
  const { slug = chosen } = tenants.find(isTenant(chosen)) ?? {};
  const close = () => {
    // It is the browser that opens it, so it is the browser's state that is changed.
    menu.current?.removeAttribute("open");
    menu.current?.querySelector("summary")?.focus();
  };
  useClosing(menu, close);
  return (
    <details ref={menu} class="menu" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class="unseen">Tenant: </span>
        {slug || "All tenants"}
      </summary>
      {open && <Choices address={address} chosen={chosen} onChosen={close} />}
    </details>
  );
}

/** `Esc` within it closes it and nothing else; a press or the focus elsewhere closes it, too. */
function useClosing(menu: { readonly current: HTMLDetailsElement | null }, close: () => void) {
  useEffect(() => {
    const { current } = menu;
    if (current === null) return;
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !current.open) return;
      // It would close the panel beside the list as well.
      event.stopPropagation();
      close();
    };
    const elsewhere = ({ target }: Event) => {
      if (target instanceof Node && !current.contains(target)) current.removeAttribute("open");
    };
    current.addEventListener("keydown", pressed);
    document.addEventListener("pointerdown", elsewhere);
    document.addEventListener("focusin", elsewhere);
    return () => {
      current.removeEventListener("keydown", pressed);
      document.removeEventListener("pointerdown", elsewhere);
      document.removeEventListener("focusin", elsewhere);
    };
  }, []);
}

interface ChoicesProps {
  readonly address: Address;
  readonly chosen: string;
  readonly onChosen: () => void;
}

function Choices({ address, chosen, onChosen }: ChoicesProps) {
  const { tenants, moreTenants } = useConsole();
  const [sought, setSought] = useState("");
  // The text whose first is to be chosen; its answer may be long in coming.
  const [meant, setMeant] = useState<string>();
  const search = useFoundTenants(sought, meant === sought);
  const { found: newest, settled } = search;
  const found = newest.toSorted((one, other) => nameOf(one).localeCompare(nameOf(other), "en"));
  // As they stand there: Enter takes the one at the top.
  const first = firstOf({ ...search, found }, sought);
  useEffect(() => {
    if (meant !== sought || !settled) return;
    setMeant(undefined);
    if (first === undefined) return;
    onChosen();
    visit(tenantHref(address, first.slug));
  });
  const list = useRef<HTMLUListElement>(null);
  const searched = moreTenants || tenants.length > tenantsSeen;
  return (
    <div class="sheet">
      {searched && (
        <TenantSearch
          sought={sought}
          onSearch={(text) => {
            setMeant(undefined);
            setSought(text);
          }}
          said={said(search, sought, moreTenants)}
          onEnter={setMeant}
        />
      )}
      <ul ref={list} aria-label="Tenants" onKeyDown={(event) => step(event, list.current)}>
        {sought.trim() === "" && (
          <Choice
            href={tenantHref(address, undefined)}
            name="All tenants"
            current={chosen === ""}
            onChosen={onChosen}
          />
        )}
        {found.map((tenant) => (
          <Choice
            key={tenant.id}
            href={tenantHref(address, tenant.slug)}
            name={nameOf(tenant)}
            current={isTenant(chosen)(tenant)}
            onChosen={onChosen}
          />
        ))}
      </ul>
    </div>
  );
}

const nameOf = ({ name, slug }: Tenant): string => name || slug;

interface ChoiceProps {
  readonly href: string;
  readonly name: string;
  readonly current: boolean;
  readonly onChosen: () => void;
}

const Choice = ({ href, name, current, onChosen }: ChoiceProps) => (
  <li>
    <a href={href} aria-current={current ? "true" : undefined} onClick={onChosen}>
      {name}
    </a>
  </li>
);

interface TenantSearchProps {
  readonly sought: string;
  readonly onSearch: (text: string) => void;
  readonly said: string;
  /** Chooses the first that this text finds, as soon as it is known. */
  readonly onEnter: (text: string) => void;
}

/** Has the focus when the menu opens. */
function TenantSearch({ sought, onSearch, said: words, onEnter }: TenantSearchProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") step(event, input.current?.closest("div") ?? null);
    if (event.key !== "Enter" || event.isComposing || sought.trim() === "") return;
    event.preventDefault();
    onEnter(sought);
  };
  return (
    <>
      <input
        ref={input}
        type="search"
        aria-label="Find a tenant"
        placeholder="Find a tenant"
        maxLength={200}
        value={sought}
        onInput={({ currentTarget }) => onSearch(currentTarget.value)}
        onKeyDown={pressed}
      />
      <p class="quiet small" role="status">
        {words}
      </p>
    </>
  );
}

/** The one of that slug, else the newest; where the server has refused, no other than that. */
const firstOf = ({ found, fault }: FoundTenants, sought: string): Tenant | undefined =>
  found.find(isSlug(sought)) ?? (fault === undefined ? found[0] : undefined);

function said(search: FoundTenants, sought: string, moreTenants: boolean): string {
  const { found, total, settled, fault } = search;
  if (sought.trim() === "") {
    return moreTenants ? `The newest ${found.length} are here; others are found by name.` : "";
  }
  if (!settled) return searching;
  const rest = total > found.length ? `, the newest ${found.length} of them here` : "";
  return fault ?? `${total.toLocaleString("en")} found${rest}`;
}

/** The arrows go from one choice to the next. */
function step(event: KeyboardEvent, within: Element | null): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [...(within?.querySelectorAll<HTMLElement>("a") ?? [])];
  const at = links.findIndex((link) => link.matches(":focus"));
  const next = links[event.key === "ArrowDown" ? at + 1 : at - 1];
  event.preventDefault();
  next?.focus();
}
