/** Issue: one certificate or many, with keys made here or requests made elsewhere. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Many } from "#web/pages/issue/many.tsx";
import { Requested } from "#web/pages/issue/requested.tsx";
import { Result } from "#web/pages/issue/result.tsx";
import { Single } from "#web/pages/issue/single.tsx";
import { Heading } from "#web/ui/heading.tsx";

interface IssuePageProps {
  /** The segments behind the page's own. */
  readonly rest: readonly string[];
}

/** `many`, `result/<ca>/<serial>` and `request/<approval>` lie below it. */
export function IssuePage({ rest: [part, first = "", second = ""] }: IssuePageProps) {
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
          {part === "many" ? <Many /> : <Single />}
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
