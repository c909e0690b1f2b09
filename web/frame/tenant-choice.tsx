/** The tenant whose things the lists show; a link for each, so that it is in the address. */

import { useEffect, useRef, useState } from "preact/hooks";
import { type Address, visit } from "#web/address.ts";
import { type Tenant, useConsole } from "#web/console.ts";
import { isTenant, tenantsSeen, useFoundTenants } from "#web/ui/tenants.ts";
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
  const { found: newest, total } = useFoundTenants(sought);
  const found = newest.toSorted((one, other) => nameOf(one).localeCompare(nameOf(other), "en"));
  const list = useRef<HTMLUListElement>(null);
  const searched = moreTenants || tenants.length > tenantsSeen;
  return (
    <div class="sheet">
      {searched && (
        <TenantSearch
          sought={sought}
          onSearch={setSought}
          found={found}
          total={total}
          onFirst={(tenant) => {
            onChosen();
            visit(tenantHref(address, tenant.slug));
          }}
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
  readonly found: readonly Tenant[];
  readonly total: number;
  readonly onFirst: (tenant: Tenant) => void;
}

/** Has the focus when the menu opens; the key of a line chooses the first that is found. */
function TenantSearch({ sought, onSearch, found, total, onFirst }: TenantSearchProps) {
  const { moreTenants } = useConsole();
  const [first] = found;
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") step(event, input.current?.closest("div") ?? null);
    if (event.key !== "Enter" || sought.trim() === "" || first === undefined) return;
    event.preventDefault();
    onFirst(first);
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
        {said({ sought, found: found.length, total, moreTenants })}
      </p>
    </>
  );
}

interface Said {
  readonly sought: string;
  readonly found: number;
  readonly total: number;
  readonly moreTenants: boolean;
}

function said({ sought, found, total, moreTenants }: Said): string {
  if (sought.trim() !== "") {
    const rest = total > found ? `, the newest ${found} of them here` : "";
    return `${total.toLocaleString("en")} found${rest}`;
  }
  return moreTenants ? `The newest ${found} are here; others are found by name.` : "";
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
