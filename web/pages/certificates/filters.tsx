/** What selects certificates: the CA, which is always said, and the filters of its list. */

import { hrefWith, type QueryChange, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { useAside } from "#web/ui/asked.tsx";
import { CaChoice, wordsOf } from "#web/ui/ca-choice.tsx";
import { type Choice, type Filter, Filters } from "#web/ui/filters.tsx";
import { serverNow } from "#web/server-clock.ts";

/** Stands in the address for all CAs; no label has this character. */
export const everyCa = "*";

interface SelectionProps {
  /** As the address names it; empty where it names none. */
  readonly named: string;
}

/** The chips above the list. */
export function Selection({ named }: SelectionProps) {
  const address = useAddress();
  const { reply } = useAside("profile.list", {});
  const profiles = reply?.kind === "answered" ? reply.answer.items.map(({ name }) => name) : [];
  return (
    <div class="chips">
      <CaChoice
        label="Certificate authority"
        value={named}
        tenant={address.query.tenant}
        needed
        besides={[{ value: everyCa, label: "CA: every one" }]}
        words={(ca) => `CA: ${wordsOf(ca)}`}
        chip
        onChoose={(ca) => visit(hrefWith(address, { ca, key: undefined, looked: undefined }))}
      />
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
