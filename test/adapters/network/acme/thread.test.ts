/** Attempts in a thread of their own: the same outcomes, and what becomes of them without it. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { type ThreadOptions, ThreadValidators } from "#adapters/network/acme/thread.ts";
import {
  body,
  type HttpResponder,
  redirect,
  startHttpResponder,
  wellKnown,
} from "#test/support/servers/acme-challenges.ts";
import type { DnsServer } from "#test/support/servers/dns-server.ts";
import { until } from "#test/support/until.ts";
import { namesAt, settingsFor, taskFor } from "#test/support/worlds/validation.ts";

const workerUrl = new URL("../../../../src/main.ts", import.meta.url).href;

let names: DnsServer;
let web: HttpResponder;
let thread: ThreadValidators;
const logged: { readonly message: string; readonly facts: unknown }[] = [];
beforeEach(async () => {
  names = await namesAt({ "a.test": ["127.0.0.2"], "b.test": ["127.0.0.2"] });
  web = await startHttpResponder("127.0.0.2");
  web.show("token", "token.thumbprint");
  logged.length = 0;
  thread = threadWith();
});
afterEach(async () => {
  await thread.close();
  await Promise.all([names.stop(), web.stop()]);
});

const threadWith = (options: Partial<ThreadOptions> = {}) =>
  new ThreadValidators({
    workerUrl,
    log: { write: (_level, message, facts) => void logged.push({ message, facts }) },
    settings: () => settingsFor(names, { http01_port: web.port }),
    ownListeners: () => [],
    ...options,
  });
const proved = { proved: true, addresses: ["127.0.0.2"] } as const;
const broken = {
  proved: false,
  problem: { type: "connection", detail: "The attempt ended by a fault of this server." },
} as const;

describe("an attempt in the thread", () => {
  test("proves what is shown, and says what is wrong as it would be said here", async () => {
    expect(await thread.attempt(taskFor())).toEqual(proved);
    web.answers.set(wellKnown("token"), body("else"));
    expect(await thread.attempt(taskFor())).toMatchObject({
      proved: false,
      problem: { type: "incorrectResponse", detail: expect.stringContaining('"else"') },
    });
    web.answers.set(wellKnown("token"), redirect("http://127.0.0.1:1/"));
    expect(await thread.attempt(taskFor())).toMatchObject({ proved: false });
    const wildcard = await thread.attempt(taskFor({ wildcard: true }));
    expect(wildcard).toMatchObject({ problem: { type: "rejectedIdentifier" } });
    expect(logged).toEqual([]);
  });

  test("has the settings and the own listeners of the moment it begins", async () => {
    let own: { address: string; port: number }[] = [];
    let port = web.port;
    await thread.close();
    thread = threadWith({
      settings: () => ({
        ...settingsFor(names, { http01_port: port }),
        validation_allow_networks: own.length > 0 ? [] : ["127.0.0.2/32"],
      }),
      ownListeners: () => own,
    });
    expect(await thread.attempt(taskFor())).toEqual(proved);
    own = [{ address: "127.0.0.2", port: web.port }];
    expect(await thread.attempt(taskFor())).toMatchObject({ proved: false });
    [own, port] = [[], 1];
    expect(await thread.attempt(taskFor())).toMatchObject({ problem: { type: "connection" } });
  });

  test("waits for no other: one that hears nothing holds up nobody", async () => {
    let answer = () => {};
    web.answers.set(wellKnown("slow"), (socket, request) => {
      answer = () => body("slow.thumbprint")(socket, request);
    });
    const slow = thread.attempt(taskFor({ token: "slow", keyAuthorization: "slow.thumbprint" }));
    await until(() => web.heard.length === 1);
    expect(await Promise.all([1, 2, 3].map(() => thread.attempt(taskFor())))).toEqual([
      proved,
      proved,
      proved,
    ]);
    answer();
    expect(await slow).toEqual(proved);
  });
});

describe("the thread", () => {
  test("ends when nobody asks, and another is started for whoever asks then", async () => {
    await thread.close();
    thread = threadWith({ idleMs: 1 });
    expect(await thread.attempt(taskFor())).toEqual(proved);
    await Bun.sleep(50);
    expect(await thread.attempt(taskFor())).toEqual(proved);
    expect(logged).toEqual([]);
  });

  test("that does not answer in time is ended with what it was asked, which is told, and replaced", async () => {
    web.answers.set(wellKnown("token"), () => {});
    await thread.close();
    let seconds = 60;
    thread = threadWith({
      settings: () =>
        settingsFor(names, { http01_port: web.port, validation_timeout_seconds: seconds }),
      graceMs: -59_900,
    });
    expect(await Promise.all([thread.attempt(taskFor()), thread.attempt(taskFor())])).toEqual([
      broken,
      broken,
    ]);
    const facts = { types: ["http-01"], message: "an attempt is not answered" };
    expect(logged).toEqual([{ message: "validation_failed_inside", facts }]);
    seconds = 120;
    web.show("token", "token.thumbprint");
    expect(await thread.attempt(taskFor())).toEqual(proved);
  });

  test("that does not start proves nothing, and leaves nobody waiting", async () => {
    await thread.close();
    thread = threadWith({ workerUrl: "file:///nowhere/main.ts" });
    expect(await thread.attempt(taskFor())).toEqual(broken);
    expect(logged).toMatchObject([{ message: "validation_failed_inside" }]);
  });

  test("is ended by closing, and its attempts with it", async () => {
    web.answers.set(wellKnown("token"), () => {});
    const attempt = thread.attempt(taskFor());
    await until(() => web.heard.length === 1);
    await thread.close();
    expect(await attempt).toEqual(broken);
    expect(logged).toEqual([]);
  });
});
