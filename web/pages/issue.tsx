/** Issue: one certificate or many, with keys made here or requests made elsewhere. */

import { useEffect, useState } from "preact/hooks";
import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import type { Typed } from "#web/pages/issue/issuing.ts";
import { type Given, nothingGiven } from "#web/pages/issue/given-list.tsx";
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
 * What is typed outlives a look at the other way to issue, until it is sent; a list, with its run,
 * until another one is begun. `many`,
 * `result/<ca>/<serial>` and `request/<approval>` lie below it.
 */
export function IssuePage({ rest: [part, first = "", second = ""] }: IssuePageProps) {
  const [typed, setTyped] = useState<Typed>(nothingTyped);
  const [given, setGiven] = useState<Given>(nothingGiven);
  const run = useRunOfList(part === "many");
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
          <Ways many={part === "many"} run={run} />
          {part === "many" ? (
            <Many given={given} onGiven={setGiven} />
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

/** Where the run of a list is: it goes on there, and with that CA, when one comes back. */
function useRunOfList(isMany: boolean): string | undefined {
  const { operation, ca, profile, tenant } = useAddress().query;
  const [run, setRun] = useState<string>();
  useEffect(() => {
    if (!isMany) return;
    const at = hrefOf(["issue", "many"], { ca, profile, tenant, operation });
    setRun(operation === undefined ? undefined : at);
  }, [isMany, operation, ca, profile, tenant]);
  return run;
}

interface WaysProps {
  readonly many: boolean;
  readonly run: string | undefined;
}

function Ways({ many, run }: WaysProps) {
  const { ca, profile, tenant } = useAddress().query;
  return (
    <nav class="tabs" aria-label="Ways to issue">
      <a href={hrefOf(["issue"], { ca, profile, tenant })} aria-current={many ? undefined : "page"}>
        One certificate
      </a>
      <a
        href={run ?? hrefOf(["issue", "many"], { ca, profile, tenant })}
        aria-current={many ? "page" : undefined}
      >
        Many at once
      </a>
    </nav>
  );
}
