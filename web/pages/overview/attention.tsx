/** What needs a person: each with what to do about it, the most urgent first. */

import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { type Console, useAddress, useConsole } from "#web/console.ts";
import {
  endingCa,
  endingPublished,
  expiringSoon,
  failingJobs,
  findings,
  inOrder,
  type Matter,
  notReady,
  pausedClock,
  waiting,
} from "./matters.ts";
import { inboxHref, useDecidable } from "#web/decidable.ts";
import { usePolled } from "#web/polled.ts";
import { rightByRoles } from "#web/rights.ts";
import { Action } from "#web/ui/action.tsx";
import type { Reply } from "#web/api.ts";
import { isMissing, Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Status } from "#web/ui/status.tsx";

interface AttentionProps {
  /** The whole page asks for it once. */
  readonly expiring: Reply<Answers["monitor.expiring"]> | undefined;
}

/** A list, or one line that says that nothing does; before the first CA, how to make it. */
export function Attention({ expiring }: AttentionProps) {
  const { tenant } = useAddress().query;
  const cas = useAsked("ca.list", { tenant, limit: casMax }, ["ca.*"]).reply;
  const { matters, parts, left, jobs } = useMatters(expiring);
  const items = cas?.kind === "answered" ? cas.answer.items : [];
  const active = items.filter(({ status }) => status !== "retired");
  const all = inOrder([...pausedClock(jobs), ...active.flatMap(endingCa), ...matters]);
  const more = Math.max(left, cas?.kind === "answered" ? cas.answer.total - items.length : 0);
  return (
    <>
      {cas?.kind === "answered" && active.length === 0 && <FirstCa />}
      {(active.length > 0 || all.length > 0 || cas?.kind !== "answered") && (
        <Matters all={all} parts={[{ of: "authorities", reply: cas }, ...parts]} left={more} />
      )}
    </>
  );
}

/** What is looked at, and what came of it; nothing as long as it is asked for. */
interface Part {
  readonly of: string;
  readonly reply: Reply<unknown> | undefined;
}

interface MattersProps {
  readonly all: readonly Matter[];
  readonly parts: readonly Part[];
  /** How many CAs were not looked at. */
  readonly left: number;
}

function Matters({ all, parts, left }: MattersProps) {
  const known = parts.every(({ reply }) => reply !== undefined);
  const fine = parts.flatMap(({ of, reply }) => (reply?.kind === "answered" ? [of] : []));
  return (
    <section class="card" aria-labelledby="attention">
      <div class="heading">
        <h2 id="attention">Needs you</h2>
        {all.length > 0 && <span class="quiet small">{all.length} in all</span>}
      </div>
      <div class="matters">
        {all.length === 0 && !known && <Waiting />}
        {all.length === 0 && known && fine.length > 0 && (
          <p>
            <Status word="nothing" tone="good" /> {listed(fine)} are fine.
          </p>
        )}
        <Unknown parts={parts} />
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
            The newest {casMax} authorities were looked at, and {left.toLocaleString("en")} were
            not.
          </p>
        )}
      </div>
    </section>
  );
}

/** What nobody should take for fine because it could not be asked. */
function Unknown({ parts }: Pick<MattersProps, "parts">) {
  const unknown = parts.filter(({ reply }) => isMissing(reply));
  const [first] = unknown;
  if (first === undefined) return null;
  return (
    <>
      <p>
        <Status word="unknown" tone="warn" /> Nothing is known of{" "}
        {joined(unknown.map(({ of }) => of))}.
      </p>
      <Outcome reply={first.reply} />
    </>
  );
}

const joined = (words: readonly string[]): string =>
  new Intl.ListFormat("en", { type: "conjunction" }).format(words);

/** As a sentence begins. */
const listed = (words: readonly string[]): string => {
  const text = joined(words);
  return text.slice(0, 1).toUpperCase() + text.slice(1);
};

/** All but what CAs say of themselves; of the chosen tenant, unless it is about the instance. */
function useMatters(expiring: AttentionProps["expiring"]) {
  const console = useConsole();
  const { tenant } = console.address.query;
  const published = useAsked("crl.list", { tenant, limit: casMax }, ["ca.*", "crl.*"]).reply;
  const approvals = useDecidable();
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
  const urgent = expiringSoon(expiring, tenant);
  const answer = published?.kind === "answered" ? published.answer : undefined;
  return {
    matters: [
      ...notReady(ready.reply),
      ...failingJobs(jobs.reply),
      ...(answer?.items ?? []).flatMap(endingPublished),
      ...waiting(approvals, inboxHref(console.address.query)),
      ...urgent,
      // What ends soon is told already, by its number.
      ...findings(preflight.reply, urgent.length > 0 ? ["certs.expiring"] : []),
    ],
    parts: [
      { of: "CRLs and responders", reply: published },
      ...(may(console, "approval.approve") ? [{ of: "approvals", reply: approvals }] : []),
      { of: "expiry", reply: expiring },
      { of: "components", reply: ready.reply },
      ...(may(console, "job.list") ? [{ of: "jobs", reply: jobs.reply }] : []),
      ...(may(console, "preflight.run") ? [{ of: "checks", reply: preflight.reply }] : []),
    ],
    left: answer === undefined ? 0 : answer.total - answer.items.length,
    jobs: jobs.reply,
  };
}

const may = (console: Console, name: "job.list" | "preflight.run" | "approval.approve"): boolean =>
  rightByRoles(console, name).allowed;

/** The members, or undefined so that nothing is asked that would be refused. */
const asked = <Members extends object>(
  console: Console,
  name: "job.list" | "preflight.run",
  members: Members,
): Members | undefined => (may(console, name) ? members : undefined);

function FirstCa() {
  const { tenants, address, caller } = useConsole();
  const { tenant } = address.query;
  const seen = caller.is_root || caller.roles.length > 0 ? "" : " that you may see";
  const chosen = tenants.find(({ id, slug }) => id === tenant || slug === tenant);
  const where = tenant === undefined ? seen : ` of ${chosen?.slug ?? tenant}`;
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
