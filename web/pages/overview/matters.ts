/** What of the answers of the instance needs a person, each with where to go for it. */

import type { Answers } from "#api/answers.ts";
import { hrefOf } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import type { Tone } from "#web/ui/status.tsx";
import { distance } from "#web/ui/time.tsx";
import { everyCa } from "#web/pages/certificates/filters.tsx";
import { serverNow } from "#web/server-clock.ts";

export interface Matter {
  readonly tone: Tone;
  readonly word: string;
  readonly sentence: string;
  readonly href: string;
}

type Asked<Name extends keyof Answers> = Reply<Answers[Name]> | undefined;
type Ca = Answers["ca.list"]["items"][number];
type Published = Answers["crl.list"]["items"][number];

/** The most urgent first; of one urgency in the order given. */
export const inOrder = (matters: readonly Matter[]): readonly Matter[] =>
  [...matters].sort((a, b) => rank(a) - rank(b));

/** Components that do not answer, or answer and say that something is wrong. */
export function notReady(reply: Asked<"health.ready">): readonly Matter[] {
  if (reply?.kind !== "answered" || reply.answer.status === "ready") return [];
  return Object.entries(reply.answer.components)
    .filter(([, { status }]) => status === "down")
    .map(([name]) => ({
      tone: "bad",
      word: "down",
      sentence: `The ${name} does not answer.`,
      href: hrefOf(["operations", "jobs"]),
    }));
}

/** What a step of the clock has paused: all of it is told where the jobs are. */
export function pausedClock(reply: Asked<"job.list">): readonly Matter[] {
  if (reply?.kind !== "answered") return [];
  const { behind_until, ahead_from } = reply.answer.clock;
  const sentences = [
    ...(behind_until === undefined ? [] : [behindSentence(behind_until)]),
    ...(ahead_from === undefined ? [] : [aheadSentence]),
  ];
  const href = hrefOf(["operations", "jobs"]);
  return sentences.map((sentence) => ({ tone: "bad", word: "paused", sentence, href }));
}

/** The distance is by the clock of the server, which is the one that is behind. */
const behindSentence = (until: string): string =>
  `The clock stands before the last event: nothing is issued until it has passed that, ${distance(Date.parse(until) - serverNow())}.`;

/** Jobs that failed last, or have not run for longer than they may. */
export function failingJobs(reply: Asked<"job.list">): readonly Matter[] {
  if (reply?.kind !== "answered") return [];
  const href = hrefOf(["operations", "jobs"]);
  return reply.answer.jobs.flatMap(({ name, late, last_failure }): readonly Matter[] => {
    if (last_failure !== undefined) {
      const sentence = `The job ${name} failed: ${last_failure}`;
      return [{ tone: "bad", word: "failed", sentence, href }];
    }
    if (!late) return [];
    return [
      {
        tone: "warn",
        word: "late",
        sentence: `The job ${name} is late.`,
        href,
      },
    ];
  });
}

/** A CA that waits for its certificate, or whose certificate ends. */
export function endingCa({ id, label, status, not_after }: Ca): readonly Matter[] {
  const href = hrefOf(["authorities", id]);
  if (status === "pending") {
    const sentence = `${label} waits for its certificate.`;
    return [{ tone: "warn", word: "pending", sentence, href }];
  }
  if (not_after === undefined) return [];
  const left = Date.parse(not_after) - serverNow();
  if (left > 90 * dayMs) return [];
  const tone = left < 30 * dayMs ? "bad" : "warn";
  const sentence = `${label} ends ${distance(left)}.`;
  return [{ tone, word: left < 0 ? "expired" : "ends", sentence, href }];
}

/** The CRL and the responder of a CA that still publishes, in the last tenth of their lives. */
export function endingPublished(one: Published): readonly Matter[] {
  if (one.ca_status === "pending" || one.ca_status === "retired") return [];
  const { this_update, next_update } = one.base;
  return [
    ...ending(one, `The CRL of ${one.ca_label}`, this_update, next_update),
    ...ending(
      one,
      `The OCSP responder of ${one.ca_label}`,
      one.responder?.not_before,
      one.responder?.not_after,
    ),
  ];
}

function ending(
  { ca_id }: Published,
  what: string,
  from: string | undefined,
  to: string | undefined,
): readonly Matter[] {
  if (from === undefined || to === undefined) return [];
  const left = Date.parse(to) - serverNow();
  const life = Date.parse(to) - Date.parse(from);
  if (left > life / 10) return [];
  const expired = left <= 0;
  return [
    {
      tone: expired ? "bad" : "warn",
      word: expired ? "expired" : "ends",
      sentence: `${what} ends ${distance(left)}.`,
      href: hrefOf(["authorities", ca_id]),
    },
  ];
}

/** Requests that wait for the caller to approve them, led to by `href`. */
export function waiting(reply: Asked<"approval.list">, href: string): readonly Matter[] {
  if (reply?.kind !== "answered" || reply.answer.total === 0) return [];
  const { total } = reply.answer;
  const sentence =
    total === 1
      ? "One request waits for your approval."
      : `${total.toLocaleString("en")} wait for your approval.`;
  return [{ tone: "warn", word: "pending", sentence, href }];
}

/** Certificates that end so soon that it is urgent, to be seen in the lists of every CA. */
export function expiringSoon(
  reply: Asked<"monitor.expiring">,
  tenant: string | undefined,
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
      href: hrefOf(["certificates"], {
        ca: everyCa,
        tenant,
        expires_before: ahead(critical_days),
        status: "good",
      }),
    },
  ];
}

/** What preflight has found, but for checks whose matter is told already; it is about the host. */
export function findings(
  reply: Asked<"preflight.run">,
  toldAlready: readonly string[],
): readonly Matter[] {
  if (reply?.kind !== "answered") return [];
  return reply.answer.checks
    .filter(({ status }) => status === "fail" || status === "warn")
    .filter(({ name }) => !toldAlready.includes(name))
    .map(({ name, status, detail }) => ({
      tone: status === "fail" ? "bad" : "warn",
      word: status,
      sentence: `Preflight ${name}: ${detail.replaceAll("`", "")}`,
      href: hrefOf(["operations", "preflight"]),
    }));
}

/** The very moment, so that the list holds what was counted. */
const ahead = (days: number): string =>
  `${new Date(serverNow() + days * dayMs).toISOString().slice(0, 19)}Z`;
const rank = ({ tone }: Matter): number => (tone === "bad" ? 0 : 1);
const dayMs = 86_400_000;
const aheadSentence = "The clock went far ahead: what acts on many things by their age waits.";
