/** Issue: one certificate or many, with keys made here or requests made elsewhere. */

import { useEffect, useState } from "preact/hooks";
import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import type { Typed } from "#web/pages/issue/issuing.ts";
import { Many } from "#web/pages/issue/many.tsx";
import { Requested } from "#web/pages/issue/requested.tsx";
import { Result } from "#web/pages/issue/result.tsx";
import { nothingTyped, Single } from "#web/pages/issue/single.tsx";
import { Heading } from "#web/ui/heading.tsx";

interface IssuePageProps {
  /** The segments behind the page's own. */
  readonly rest: readonly string[];
}

/**
 * What is typed outlives a look at the other way to issue, until it is sent. `many`,
 * `result/<ca>/<serial>` and `request/<approval>` lie below it.
 */
export function IssuePage({ rest: [part, first = "", second = ""] }: IssuePageProps) {
  const [typed, setTyped] = useState<Typed>(nothingTyped);
  const sent = part === "result" || part === "request";
  useEffect(() => {
    if (sent) setTyped(nothingTyped);
  }, [sent]);
  const above = [{ name: "Issue", href: hrefOf(["issue"]) }];
  switch (part) {
    case "result":
      return <Result key={`${first}/${second}`} caId={first} serial={second} above={above} />;
    case "request":
      return <Requested key={first} approvalId={first} above={above} />;
    default:
      return (
        <>
          <Heading name="Issue" />
          <Ways many={part === "many"} />
          {part === "many" ? (
            <Many />
          ) : (
            <Single
              typed={typed}
              onTyped={(change) => setTyped((was) => ({ ...was, ...change }))}
            />
          )}
        </>
      );
  }
}

function Ways({ many }: { readonly many: boolean }) {
  const { ca, profile, tenant } = useAddress().query;
  return (
    <nav class="tabs" aria-label="Ways to issue">
      <a href={hrefOf(["issue"], { ca, profile, tenant })} aria-current={many ? undefined : "page"}>
        One certificate
      </a>
      <a
        href={hrefOf(["issue", "many"], { ca, profile, tenant })}
        aria-current={many ? "page" : undefined}
      >
        Many at once
      </a>
    </nav>
  );
}
