/** What selects certificates: the CA, which is always said, and the filters of its list. */

import { hrefWith, type QueryChange, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { useAsked } from "#web/ui/asked.tsx";
import { type Choice, type Filter, Filters } from "#web/ui/filters.tsx";
import { type Authority, authorityName, authorityOf } from "./authorities.ts";
import { serverNow } from "#web/server-clock.ts";

/** Stands in the address for all CAs; no label has this character. */
export const everyCa = "*";

interface SelectionProps {
  readonly cas: readonly Authority[];
  /** As the address names it. */
  readonly named: string | undefined;
}

/** The chips above the list. */
export function Selection({ cas, named }: SelectionProps) {
  const address = useAddress();
  const { reply } = useAsked("profile.list", {});
  const profiles = reply?.kind === "answered" ? reply.answer.items.map(({ name }) => name) : [];
  const chosen = named === everyCa ? everyCa : (authorityOf(cas, named)?.id ?? "");
  return (
    <div class="chips">
      <select
        class="chip"
        aria-label="Certificate authority"
        value={chosen}
        onChange={({ currentTarget }) =>
          visit(hrefWith(address, { ca: currentTarget.value, key: undefined }))
        }
      >
        {chosen === "" && <option value="">CA…</option>}
        <option value={everyCa}>CA: every one</option>
        {cas.map((ca) => (
          <option key={ca.id} value={ca.id}>
            CA: {authorityName(ca)}
          </option>
        ))}
      </select>
      <Filters filters={filters(profiles)} />
    </div>
  );
}

/** The members of `cert.list` that the address has. */
export const membersIn = (query: QueryChange): QueryChange =>
  Object.fromEntries(members.map((name) => [name, query[name]]));

/** True where the address selects among the certificates of a CA. */
export const isFiltered = (query: QueryChange): boolean =>
  members.some((name) => query[name] !== undefined);

const members = [
  "q",
  "status",
  "profile",
  "expires_before",
  "serial_prefix",
  "public_key_sha256",
  "certificate_sha256",
  "requested_by",
] as const;

const filters = (profiles: readonly string[]): readonly Filter[] => [
  { name: "q", label: "Name or serial" },
  { name: "status", label: "Status", choices: statuses },
  { name: "profile", label: "Profile", choices: profiles.map(same) },
  { name: "expires_before", label: "Expires before", kind: "day", choices: soon() },
  { name: "serial_prefix", label: "Serial begins" },
  { name: "public_key_sha256", label: "Key" },
  { name: "certificate_sha256", label: "Certificate SHA-256" },
  { name: "requested_by", label: "Requested by" },
];

const same = (word: string): Choice => ({ value: word, label: word });

const statuses: readonly Choice[] = [
  { value: "good", label: "good" },
  { value: "held", label: "suspended" },
  { value: "revoked", label: "revoked" },
  { value: "expired", label: "expired" },
];

/** Days from today, UTC as the server reads them: the address keeps the day that is meant. */
const soon = (): readonly Choice[] =>
  [7, 30, 90, 365].map((days) => {
    const day = new Date(serverNow() + days * 86_400_000).toISOString().slice(0, 10);
    return { value: day, label: `${day} UTC (in ${days} days)` };
  });
