/** What needs a person: each with what to do about it, the most urgent first. */

import { useEffect, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import { ask, type Credential, replied } from "#web/api.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { rightByRoles } from "#web/rights.ts";
import { useAsked, Waiting } from "#web/ui/asked.tsx";
import { Status, type Tone } from "#web/ui/status.tsx";
import { distance } from "#web/ui/time.tsx";

type Ca = Answers["ca.list"]["items"][number];
type CrlStatus = Answers["crl.status"];

interface Matter {
  readonly tone: Tone;
  readonly word: string;
  readonly sentence: string;
  readonly href: string;
}

/** A list, or one line that says that nothing does. */
export function Attention() {
  const { tenant } = useAddress().query;
  const cas = useAsked("ca.list", { tenant, limit: 500 }, ["ca.*"]);
  const approvals = useAsked("approval.list", { status: "pending", tenant, limit: 1 }, ["*"]);
  const expiring = useAsked("monitor.expiring", { limit: 1 }, ["cert.*"]);
  const ready = useAsked("health.ready", {});
  const active = listed(cas.reply).filter(({ status }) => status !== "retired");
  const crls = useCrls(active);
  const preflight = usePreflight();
  const matters = [
    ...notReady(ready.reply),
    ...active.flatMap(endingCa),
    ...(crls ?? []).flatMap(staleCrl),
    ...waiting(approvals.reply),
    ...expiringSoon(expiring.reply),
    ...(preflight ?? []),
  ].sort((a, b) => rank(a) - rank(b));
  const replies = [approvals.reply, expiring.reply, ready.reply, crls, preflight];
  const known = replies.every((reply) => reply !== undefined);
  if (cas.reply === undefined) return null;
  if (active.length === 0) return <FirstCa />;
  return (
    <section class="card" aria-labelledby="attention">
      <h2 id="attention">Needs you</h2>
      {matters.length === 0 && !known && <Waiting />}
      {matters.length === 0 && known && (
        <p>
          <Status word="nothing" tone="good" /> Authorities, CRLs, approvals and expiry are fine.
        </p>
      )}
      {matters.length > 0 && (
        <ul class="bare">
          {matters.map(({ tone, word, sentence, href }) => (
            <li key={sentence}>
              <Status word={word} tone={tone} /> <a href={href}>{sentence}</a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function FirstCa() {
  return (
    <div class="empty">
      <p>There is no certificate authority yet. Make a root, then an intermediate that issues.</p>
      <a class="button primary" href={hrefOf(["authorities"], { dialog: "root" })}>
        Make a root
      </a>
    </div>
  );
}

/** The status of the CRL of each, no more than can be looked at; undefined until all is told. */
function useCrls(cas: readonly Ca[]): readonly { ca: Ca; crl: CrlStatus }[] | undefined {
  const { credential } = useConsole();
  const [found, setFound] = useState<readonly { ca: Ca; crl: CrlStatus }[]>();
  const wanted = cas.filter(({ status }) => status !== "pending").slice(0, crlsMax);
  const key = wanted.map(({ id }) => id).join();
  useEffect(() => {
    const stop = new AbortController();
    void Promise.all(wanted.map((ca) => crlOf(ca, credential, stop.signal))).then((all) => {
      if (!stop.signal.aborted) setFound(all.flat());
    });
    return () => stop.abort();
    // `key` stands for the CAs.
  }, [key, credential]);
  return found;
}

async function crlOf(ca: Ca, credential: Credential, signal: AbortSignal) {
  const reply = await replied(ask("crl.status", { id: ca.id }, credential, signal));
  return reply.kind === "answered" ? [{ ca, crl: reply.answer }] : [];
}

/** Only who may run it is told: what it finds is about the host. Undefined until it is known. */
function usePreflight(): readonly Matter[] | undefined {
  const known = useConsole();
  const may = rightByRoles(known, "preflight.run").allowed;
  const { reply } = useAsked("preflight.run", may ? { network: false } : undefined);
  if (may && reply === undefined) return undefined;
  if (reply?.kind !== "answered") return [];
  return reply.answer.checks
    .filter(({ status }) => status === "fail" || status === "warn")
    .map(({ name, status, detail }) => ({
      tone: status === "fail" ? "bad" : "warn",
      word: status,
      sentence: `Preflight ${name}: ${detail.replaceAll("`", "")}`,
      href: hrefOf(["operations", "preflight"]),
    }));
}

function listed(reply: ReturnType<typeof useAsked<"ca.list">>["reply"]): readonly Ca[] {
  return reply?.kind === "answered" ? reply.answer.items : [];
}

function notReady(reply: ReturnType<typeof useAsked<"health.ready">>["reply"]): readonly Matter[] {
  if (reply?.kind !== "answered" || reply.answer.status === "ready") return [];
  return Object.entries(reply.answer.components)
    .filter(([, { status }]) => status === "down")
    .map(([name]) => ({
      tone: "bad",
      word: "down",
      sentence: `The ${name} does not answer.`,
      href: hrefOf(["operations"]),
    }));
}

function endingCa({ id, label, status, not_after }: Ca): readonly Matter[] {
  const href = hrefOf(["authorities", id]);
  if (status === "pending") {
    const sentence = `${label} waits for its certificate.`;
    return [{ tone: "warn", word: "pending", sentence, href }];
  }
  if (not_after === undefined) return [];
  const left = Date.parse(not_after) - Date.now();
  if (left > 90 * dayMs) return [];
  const tone = left < 30 * dayMs ? "bad" : "warn";
  const sentence = `${label} ends ${distance(left)}.`;
  return [{ tone, word: left < 0 ? "expired" : "ends", sentence, href }];
}

function staleCrl({ ca, crl }: { readonly ca: Ca; readonly crl: CrlStatus }): readonly Matter[] {
  const { next_update, this_update, expired } = crl.base;
  const href = hrefOf(["authorities", ca.id]);
  if (next_update === undefined || this_update === undefined) return [];
  const left = Date.parse(next_update) - Date.now();
  const life = Date.parse(next_update) - Date.parse(this_update);
  if (!expired && left > life / 10) return [];
  const sentence = `The CRL of ${ca.label} ends ${distance(left)}.`;
  return [{ tone: expired ? "bad" : "warn", word: expired ? "expired" : "ends", sentence, href }];
}

function waiting(reply: ReturnType<typeof useAsked<"approval.list">>["reply"]): readonly Matter[] {
  if (reply?.kind !== "answered" || reply.answer.total === 0) return [];
  const { total } = reply.answer;
  const sentence = total === 1 ? "One request waits for approval." : `${total} wait for approval.`;
  const href = hrefOf(["approvals"], { status: "pending" });
  return [{ tone: "warn", word: "pending", sentence, href }];
}

function expiringSoon(
  reply: ReturnType<typeof useAsked<"monitor.expiring">>["reply"],
): readonly Matter[] {
  if (reply?.kind !== "answered") return [];
  const { counts, critical_days } = reply.answer;
  if (counts.critical === 0) return [];
  const which = counts.critical === 1 ? "One certificate ends" : `${counts.critical} end`;
  return [
    {
      tone: "bad",
      word: "critical",
      sentence: `${which} within ${critical_days} days.`,
      href: hrefOf(["certificates"], { expires_before: day(critical_days), status: "good" }),
    },
  ];
}

const day = (ahead: number): string =>
  new Date(Date.now() + ahead * dayMs).toISOString().slice(0, 10);
const rank = ({ tone }: Matter): number => (tone === "bad" ? 0 : 1);
const dayMs = 86_400_000;
const crlsMax = 40;
