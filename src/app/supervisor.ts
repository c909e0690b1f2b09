/** What a serving instance tells the service manager that started it, and when. */

import { type Notify, notifierAt } from "#adapters/service-notify.ts";
import type { Log } from "#domain/ports.ts";

/** What the manager asks for. */
export interface SupervisorDeps {
  /** Undefined where nobody wants to be told. */
  readonly notify: Notify | undefined;
  /** It ends a process that says nothing for so long; undefined when it does not watch. */
  readonly watchdogMs: number | undefined;
  readonly log: Log;
}

/** As the variables of a service say (sd_notify(3), sd_watchdog_enabled(3)). */
export function supervisorOf(
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Supervisor {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = env;
  const microseconds = Number(WATCHDOG_USEC);
  const ours = WATCHDOG_PID === undefined || WATCHDOG_PID === String(process.pid);
  const watched = ours && microseconds > 0;
  const notify = notifierAt(NOTIFY_SOCKET);
  if (NOTIFY_SOCKET !== undefined && notify === undefined) {
    log.write("warn", "supervisor_not_told", { message: "nothing can be sent to it" });
  }
  return new Supervisor({ notify, watchdogMs: watched ? microseconds / 1000 : undefined, log });
}

/** Tells it; a message that does not go out is logged and ends nothing. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  #watch: Timer | undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  /**
   * Says that the server is ready, and from then on, at half of the time it is given, that it is
   * alive: only when `answer` has settled, and not at all while the event loop stands still.
   */
  ready(url: string, answer: () => Promise<void>): void {
    this.#say(`READY=1\nSTATUS=Serving ${url}`);
    const { watchdogMs, notify } = this.#deps;
    if (watchdogMs === undefined || notify === undefined) return;
    let waiting = false;
    const look = async () => {
      if (waiting) return;
      waiting = true;
      await answer();
      waiting = false;
      if (this.#watch !== undefined) this.#say("WATCHDOG=1");
    };
    this.#watch = setInterval(() => void look(), Math.max(1, watchdogMs / 2));
  }

  /** Says that the server reloads while it does, and that it is ready again however that went. */
  async reloading(reload: () => Promise<void>): Promise<void> {
    this.#say("RELOADING=1");
    await reload();
    this.#say("READY=1");
  }

  /** Says that the server stops. */
  stopping(): void {
    clearInterval(this.#watch);
    this.#watch = undefined;
    this.#say("STOPPING=1\nSTATUS=Stopping");
  }

  #say(message: string): void {
    const { notify, log } = this.#deps;
    if (notify === undefined || notify(message)) return;
    log.write("warn", "supervisor_not_told", { message: message.split("\n")[0] });
  }
}
