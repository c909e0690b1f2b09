/** What needs a person: each with what to do about it, the most urgent first. */

import { hrefOf } from "#web/address.ts";
import { type Console, useAddress, useConsole } from "#web/console.ts";
import { ClockPause } from "./clock.tsx";
import {
  endingCa,
  endingPublished,
  expiringSoon,
  failingJobs,
  findings,
  inOrder,
  type Matter,
  notReady,
  waiting,
} from "./matters.ts";
import { usePolled } from "#web/polled.ts";
import { rightByRoles } from "#web/rights.ts";
import { Action } from "#web/ui/action.tsx";
import { useAsked, Waiting } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Status } from "#web/ui/status.tsx";

/** A list, or one line that says that nothing does; before the first CA, how to make it. */
export function Attention() {
  const { tenant } = useAddress().query;
  const cas = useAsked("ca.list", { tenant, limit: casMax }, ["ca.*"]).reply;
  const { matters, known, left, jobs } = useMatters();
  if (cas === undefined) return null;
  const items = cas.kind === "answered" ? cas.answer.items : [];
  const active = items.filter(({ status }) => status !== "retired");
  const all = inOrder([...active.flatMap(endingCa), ...matters]);
  const more = Math.max(left, cas.kind === "answered" ? cas.answer.total - items.length : 0);
  return (
    <>
      {jobs?.kind === "answered" && <ClockPause clock={jobs.answer.clock} />}
      {cas.kind === "answered" && active.length === 0 && <FirstCa />}
      {(active.length > 0 || all.length > 0) && <Matters all={all} known={known} left={more} />}
    </>
  );
}

interface MattersProps {
  readonly all: readonly Matter[];
  /** False while something is still being asked for. */
  readonly known: boolean;
  /** How many CAs were not looked at. */
  readonly left: number;
}

function Matters({ all, known, left }: MattersProps) {
  return (
    <section class="card" aria-labelledby="attention">
      <h2 id="attention">Needs you</h2>
      {all.length === 0 && !known && <Waiting />}
      {all.length === 0 && known && (
        <p>
          <Status word="nothing" tone="good" /> Authorities, CRLs, responders, jobs, approvals and
          expiry are fine.
        </p>
      )}
      {all.length > 0 && (
        <ul class="bare">
          {all.map(({ tone, word, sentence, href }) => (
            <li key={sentence}>
              <Status word={word} tone={tone} /> <a href={href}>{sentence}</a>
            </li>
          ))}
        </ul>
      )}
      {left > 0 && (
        <p class="quiet small">
          The newest {casMax} authorities were looked at, and {left.toLocaleString("en")} were not.
        </p>
      )}
    </section>
  );
}

/** All but what CAs say of themselves; of the chosen tenant, unless it is about the instance. */
function useMatters() {
  const console = useConsole();
  const { tenant } = console.address.query;
  const published = useAsked("crl.list", { tenant, limit: casMax }, ["ca.*", "crl.*"]).reply;
  const approvals = useAsked("approval.list", { status: "pending", tenant, limit: 1 }, ["*"]);
  const expiring = useAsked("monitor.expiring", { tenant, limit: 1 }, ["cert.*"]);
  const ready = useAsked("health.ready", {});
  const jobs = useAsked("job.list", asked(console, "job.list", {}), ["monitor.clock_accept"]);
  // Only who may run it is told: what it finds is about the host.
  const preflight = useAsked("preflight.run", asked(console, "preflight.run", { network: false }), [
    "config.*",
  ]);
  usePolled(() => {
    jobs.refresh();
    ready.refresh();
  }, 15);
  const urgent = expiringSoon(expiring.reply, tenant);
  const answer = published?.kind === "answered" ? published.answer : undefined;
  const waited = [published, approvals.reply, expiring.reply, ready.reply];
  return {
    matters: [
      ...notReady(ready.reply),
      ...failingJobs(jobs.reply),
      ...(answer?.items ?? []).flatMap(endingPublished),
      ...waiting(approvals.reply, tenant),
      ...urgent,
      // What ends soon is told already, by its number.
      ...findings(preflight.reply, urgent.length > 0 ? ["certs.expiring"] : []),
    ],
    known:
      waited.every((reply) => reply !== undefined) &&
      (jobs.reply !== undefined || !may(console, "job.list")) &&
      (preflight.reply !== undefined || !may(console, "preflight.run")),
    left: answer === undefined ? 0 : answer.total - answer.items.length,
    jobs: jobs.reply,
  };
}

const may = (console: Console, name: "job.list" | "preflight.run"): boolean =>
  rightByRoles(console, name).allowed;

/** The members, or undefined so that nothing is asked that would be refused. */
const asked = <Members extends object>(
  console: Console,
  name: "job.list" | "preflight.run",
  members: Members,
): Members | undefined => (may(console, name) ? members : undefined);

function FirstCa() {
  const { tenants, address } = useConsole();
  const { tenant } = address.query;
  const chosen = tenants.find(({ id, slug }) => id === tenant || slug === tenant);
  const where = tenant === undefined ? "" : ` of ${chosen?.slug ?? tenant}`;
  return (
    <div class="empty">
      <p>
        There is no certificate authority{where} yet. Make a root, then an intermediate that issues.
      </p>
      <Action
        operation="ca.init_root"
        look="primary"
        where={{ tenantId: chosen?.id }}
        href={hrefOf(["authorities"], { dialog: "root", tenant })}
      >
        Make a root
      </Action>
      <Copy text='pkid ca init-root --label root --cn "Example Root"' name="command" />
    </div>
  );
}

const casMax = 500;
