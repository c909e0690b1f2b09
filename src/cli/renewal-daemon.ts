/** `pkid cert renew --daemon`: keeps a certificate file fresh for as long as the process runs. */

import type { KeyObject } from "node:crypto";

import { instant, timestamp } from "#core/time.ts";
import type { ParsedCertificate } from "#core/x509/certificate.ts";

import { certificateOf } from "./certificate-reference.ts";
import type { Answer } from "./client.ts";
import type { Invocation } from "./command.ts";
import { Failure, Refusal, UsageError } from "./failure.ts";
import { newKey, renewalRequest, subscriberKeyTypeOf } from "./new-request.ts";
import { secondsOf } from "./open-reach.ts";
import { pauseMs, renewalDue } from "./renewal.ts";
import {
  certificateIn,
  firstIn,
  openPair,
  type RenewedFiles,
  settlePair,
  spkiOf,
} from "./renewed-files.ts";
import { runHook, withoutSettings } from "./renewal-hook.ts";
import { textAt } from "./rows.ts";
import { staying } from "./staying.ts";

/** What the daemon takes of the flags of its command. */
interface DaemonArgs {
  readonly serial: string;
  readonly ca: string;
  readonly "validity-days": number | undefined;
  readonly key: string | undefined;
  readonly within: string | undefined;
  readonly every: string;
  readonly exec: string | undefined;
  readonly once: boolean;
}

type Daemon = Omit<Invocation<Record<never, never>>, "args"> & { readonly args: DaemonArgs };

/** What stays the same from look to look. */
interface Watched {
  readonly files: RenewedFiles;
  readonly withinSeconds: number | undefined;
  /** Of the hook. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How a look ended; `hopeless` is what no later one will mend. */
type Outcome = "succeeded" | "failed" | "hopeless";

/**
 * Looks, renews when due, sleeps, until a signal ends it: then gives 0 for SIGTERM and 130 for
 * SIGINT. What fails is said and tried again; gives 1 for a certificate that is never renewed any
 * more, and with `--once` for a look that failed. Refuses flags that do not go together; fails for
 * files that it could not replace.
 */
export async function keptFresh(invocation: Daemon): Promise<number> {
  const { args: given, io } = invocation;
  checkTogether(invocation);
  const everySeconds = secondsOf("--every", given.every);
  if (everySeconds < 1) throw new UsageError("--every must be at least 1s.");
  const files = { certificate: given.serial, key: given.key };
  const watched: Watched = {
    files,
    withinSeconds: given.within === undefined ? undefined : secondsOf("--within", given.within),
    // As it was before the settings of an instance put a proxy with its password into it.
    env: withoutSettings(process.env),
  };
  // The first look is taken before anybody relies on the process; what is wrong with the line or
  // the files ends it.
  settlePair((await firstIn(io, files.certificate)).certificate, files);
  openPair(files);
  using stay = staying();
  const looks = new Looks(invocation, watched);
  const all = keptLooking(() => looks.next(), {
    everySeconds,
    once: given.once,
    pause: stay.pause,
    chance: () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32,
  });
  return await Promise.race([all, stay.ended]);
}

/**
 * Looks until one is hopeless or, where one is enough, once; `pause` waits so many milliseconds,
 * `chance` draws a number from 0 to below 1. Gives the exit code.
 */
export async function keptLooking(
  look: () => Promise<Outcome>,
  of: {
    readonly everySeconds: number;
    readonly once: boolean;
    readonly pause: (milliseconds: number) => Promise<void>;
    readonly chance: () => number;
  },
): Promise<number> {
  const { everySeconds, once, pause, chance } = of;
  for (let failures = 0; ; ) {
    const outcome = await look();
    if (outcome === "hopeless") return 1;
    failures = outcome === "failed" ? failures + 1 : 0;
    if (once) return failures === 0 ? 0 : 1;
    await pause(pauseMs({ everySeconds, failures, chance: chance() }));
  }
}

function checkTogether({ args: given, globals, given: isGiven }: Daemon): void {
  const idle = ["csr", "out", "chain"].find((name) => isGiven(name));
  if (idle !== undefined) {
    throw new UsageError(`--daemon renews the file in place, without --${idle}.`);
  }
  if (given.serial === "-") throw new UsageError("--daemon renews a file, and - is none.");
  for (const name of ["token", "token-file"] as const) {
    if (globals[name] !== "-") continue;
    throw new UsageError("--daemon asks more than once, and stdin ends: --token-file <file>.");
  }
}

/** One look after another. */
class Looks {
  readonly #invocation: Daemon;
  readonly #watched: Watched;
  /** A renewal that nobody has been told of by the hook yet. */
  #isHookOwed = false;
  /** What was asked for and waits for people: it is asked about again, and not for another key. */
  #parked: ParkedRenewal | undefined;

  constructor(invocation: Daemon, watched: Watched) {
    this.#invocation = invocation;
    this.#watched = watched;
  }

  /** What fails is said; only what is a bug is thrown. */
  async next(): Promise<Outcome> {
    const { client, print } = this.#invocation;
    let decision: Decision;
    try {
      decision = await this.#decide();
    } catch (error) {
      if (!(error instanceof Failure || error instanceof Refusal)) throw error;
      return this.#failed(error);
    } finally {
      // The next look reads certificate, key and token of the caller anew.
      await client.close();
    }
    const isTold = await this.#tellHook();
    print(decision, sentenceOf(decision));
    return isTold ? "succeeded" : "failed";
  }

  async #decide(): Promise<Decision> {
    const { io } = this.#invocation;
    const { files, withinSeconds } = this.#watched;
    const { certificate, count } = await firstIn(io, files.certificate);
    const now = instant(Date.now());
    const told = { at: timestamp(now), file: files.certificate };
    const found = renewalDue(certificate, withinSeconds, now);
    if (!found.due) return { ...told, decision: "not_due", ...lifeOf(certificate, withinSeconds) };
    const renewed = await this.#renew(certificate, count);
    this.#isHookOwed = true;
    return { ...told, decision: "renewed", ...lifeOf(renewed, withinSeconds) };
  }

  async #renew(old: ParsedCertificate, count: number): Promise<ParsedCertificate> {
    const { args: given, client, io } = this.#invocation;
    const { files } = this.#watched;
    settlePair(old, files);
    const write = openPair(files);
    const parked = this.#parked?.serial === old.serial ? this.#parked : undefined;
    const fresh = files.key === undefined ? undefined : newKey(subscriberKeyTypeOf(old));
    const key = parked === undefined ? fresh : parked.key;
    const csr = parked === undefined ? key && renewalRequest(key, old) : parked.csr;
    const named = { text: files.certificate, format: undefined };
    const reference = { ca: given.ca, ...named, writes: true };
    const { id, serial } = await certificateOf(client, io, reference);
    const asked = { id, serial, csr, validity_days: given["validity-days"] };
    const issued = await this.#asked(asked, parked, { serial: old.serial, key, csr });
    const pem = textAt(issued, count > 1 ? "chain" : "certificate");
    const renewed = certificateIn(pem, "the answer");
    if (Buffer.compare(renewed.spki, key === undefined ? old.spki : spkiOf(key)) !== 0) {
      throw new Failure("The certificate in the answer is for another key.");
    }
    write(pem, key);
    return renewed;
  }

  /** Of what is parked the answer is wanted, and of what was rejected no other is parked. */
  async #asked(
    members: Renewal,
    parked: ParkedRenewal | undefined,
    request: Omit<ParkedRenewal, "approval">,
  ): Promise<Answer<"cert.renew">> {
    const { client } = this.#invocation;
    try {
      const issued =
        parked === undefined
          ? await client.ask("cert.renew", members)
          : await client.askOf(parked.approval, "cert.renew", members);
      this.#parked = undefined;
      return issued;
    } catch (error) {
      const approval = parkedAs(error);
      if (approval !== undefined) this.#parked = { ...request, approval };
      else if (isOver(error)) this.#parked = undefined;
      throw error;
    }
  }

  #failed(error: Failure | Refusal): Outcome {
    const { certificate: file } = this.#watched.files;
    const at = timestamp(instant(Date.now()));
    const status = hopelessStatus(error);
    const { code } = error instanceof Refusal ? error.body : error;
    const sentence =
      status === undefined
        ? `was not renewed: ${error.message} (${code})`
        : `is not renewed any more: it is ${status}. (${code})`;
    this.#invocation.complain(`${at} ${file} ${sentence}`, error);
    return status === undefined ? "failed" : "hopeless";
  }

  /**
   * False while the hook does not succeed: a certificate that its server has not loaded ends as one
   * that was not renewed.
   */
  async #tellHook(): Promise<boolean> {
    const { args: given, complain } = this.#invocation;
    const { files, env } = this.#watched;
    if (given.exec === undefined || !this.#isHookOwed) return true;
    const code = await runHook(given.exec, files, env);
    this.#isHookOwed = code !== 0;
    if (code === 0) return true;
    complain(`${timestamp(instant(Date.now()))} "${given.exec}" ended with ${code}.`);
    return false;
  }
}

/** A renewal that people have to approve: of which certificate, and for which key. */
interface ParkedRenewal {
  readonly approval: string;
  readonly serial: ParsedCertificate["serial"];
  readonly key: KeyObject | undefined;
  readonly csr: string | undefined;
}

/** What is asked for. */
interface Renewal {
  readonly id: string;
  readonly serial: string;
  readonly csr: string | undefined;
  readonly validity_days: number | undefined;
}

/** The request that an answer says is parked. */
function parkedAs(error: unknown): string | undefined {
  if (!(error instanceof Failure) || error.code !== "approval_pending") return undefined;
  const { approval_id } = error.facts;
  return typeof approval_id === "string" ? approval_id : undefined;
}

/** True where nobody will decide any more about what was parked: the next look asks anew. */
const isOver = (error: unknown): boolean =>
  error instanceof Refusal && ["approval_expired", "not_found"].includes(String(error.body.code));

/** What a look came to, for people and programs. */
interface Decision {
  readonly at: string;
  readonly file: string;
  readonly decision: "not_due" | "renewed";
  readonly serial: string;
  readonly due_since: string;
  readonly not_after: string;
}

const sentenceOf = ({ at, file, decision, due_since, not_after }: Decision): string =>
  decision === "renewed"
    ? `${at} ${file} was renewed until ${not_after}.\n`
    : `${at} ${file} is not due before ${due_since}.\n`;

function lifeOf(certificate: ParsedCertificate, withinSeconds: number | undefined) {
  const { since } = renewalDue(certificate, withinSeconds, instant(0));
  return {
    serial: certificate.serial,
    due_since: timestamp(since),
    not_after: timestamp(certificate.notAfter),
  };
}

/** What a certificate is that no later look will see renewed; one on hold may be released. */
function hopelessStatus(error: Failure | Refusal): string | undefined {
  if (!(error instanceof Refusal) || error.body.code !== "not_renewable") return undefined;
  const status = String(error.body.status);
  return status === "held" ? undefined : status;
}
