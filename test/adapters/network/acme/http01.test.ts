/** Proofs by http-01 against web servers that are right, wrong, slow, endless or lead elsewhere. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { connect } from "node:net";

import type { ValidationSettings } from "#adapters/network/acme/validators.ts";
import type { ValidationTask } from "#domain/acme/validators.ts";
import {
  type Answer,
  body,
  endless,
  type HttpResponder,
  raw,
  redirect,
  startHttpResponder,
  wellKnown,
} from "#test/support/servers/acme-challenges.ts";
import type { DnsServer } from "#test/support/servers/dns-server.ts";
import { heldSocket } from "#test/support/servers/held-sockets.ts";
import { until } from "#test/support/until.ts";
import {
  addressRecord,
  namesAt,
  settingsFor,
  taskFor,
  validatorsWith,
} from "#test/support/worlds/validation.ts";

let names: DnsServer;
/** At 127.0.0.2, which may be connected to. */
let web: HttpResponder;
/** At 127.0.0.1, the same port, which may not. */
let inside: HttpResponder;
beforeEach(async () => {
  names = await namesAt({ "a.test": ["127.0.0.2"], "b.test": ["127.0.0.2"] });
  [web, inside] = await startResponders();
  inside.show("token", "token.thumbprint");
});
/** Starts a web server at 127.0.0.2, and one at 127.0.0.1 on the same port. */
async function startResponders(): Promise<[HttpResponder, HttpResponder]> {
  const outer = await startHttpResponder("127.0.0.2");
  try {
    return [outer, await startHttpResponder("127.0.0.1", outer.port)];
  } catch {
    // Another process uses this port at 127.0.0.1.
    await outer.stop();
    return await startResponders();
  }
}
afterEach(async () => {
  await Promise.all([names.stop(), web.stop(), inside.stop()]);
});

const attempt = (task: Partial<ValidationTask> = {}, settings: Partial<ValidationSettings> = {}) =>
  validatorsWith(() =>
    settingsFor(names, { http01_port: web.port, ...settings }),
  ).validators.attempt(taskFor(task));
const answering = (answer: Answer) => web.answers.set(wellKnown("token"), answer);
const problem = async (...given: Parameters<typeof attempt>) => {
  const outcome = await attempt(...given);
  return outcome.proved ? ["proved", ""] : [outcome.problem.type, outcome.problem.detail];
};

describe("control is proven", () => {
  test("RFC 8555 §8.3: by the key authorization at its path, asked for by name at the address", async () => {
    web.show("token", "token.thumbprint");
    expect(await attempt()).toEqual({ proved: true, addresses: ["127.0.0.2"] });
    const [head = ""] = web.heard;
    expect(head).toStartWith(`GET ${wellKnown("token")} HTTP/1.1\r\nHost: a.test:${web.port}\r\n`);
    await until(() => web.open() === 0);
  });

  test("with white space behind it, in chunks, or with no length", async () => {
    for (const answer of [
      body("token.thumbprint\r\n \t\n"),
      raw(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\ntoken.thumbprint\r\n0\r\n\r\n",
      ),
      raw("HTTP/1.0 200 OK\n\ntoken.thumbprint\n"),
    ]) {
      answering(answer);
      expect(await attempt()).toMatchObject({ proved: true });
    }
  });

  test("by a server that never hangs up, whose answer is whole", async () => {
    answering((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\ntoken.thumbprint"),
    );
    expect(await attempt()).toMatchObject({ proved: true });
    await until(() => web.open() === 0);
  });

  test("RFC 8738: for an address, which is asked for nowhere", async () => {
    web.show("token", "token.thumbprint");
    const identifier = { type: "ip", value: "127.0.0.2" } as const;
    expect(await attempt({ identifier })).toMatchObject({ proved: true });
    expect(web.heard[0]).toContain(`Host: 127.0.0.2:${web.port}\r\n`);
    expect(names.heard).toEqual([]);
  });

  test("through redirects to a path, another name and an address, five at most", async () => {
    answering(redirect("/1"));
    web.answers.set("/1", redirect(`http://b.test:${web.port}/2?q=%20x#part`, 301));
    web.answers.set("/2?q=%20x", redirect(`//127.0.0.2:${web.port}/3`, 307));
    web.answers.set("/3", redirect("4", 308));
    web.answers.set("/4", redirect("http:5", 303));
    web.answers.set("/5", body("token.thumbprint"));
    expect(await attempt()).toMatchObject({ proved: true, addresses: { length: 6 } });
    const hosts = web.heard.map((head) => /Host: (.*):/.exec(head)?.[1]);
    expect(hosts).toEqual(["a.test", "a.test", "b.test", "127.0.0.2", "127.0.0.2", "127.0.0.2"]);
    expect(names.heard).toHaveLength(4);
  });
});

describe("IPv6 comes first", () => {
  const both = { validation_allow_networks: ["127.0.0.2/32", "::1/128"] };
  beforeEach(() => {
    names.zone.set("a.test", [addressRecord("127.0.0.2"), addressRecord("::1")]);
    web.show("token", "token.thumbprint");
  });

  test("P-10: and IPv4 after it has failed", async () => {
    expect(await attempt({}, both)).toEqual({ proved: true, addresses: ["127.0.0.2"] });
  });

  test("P-10: and is enough where it answers", async () => {
    const six = await startHttpResponder("::1", web.port);
    six.show("token", "token.thumbprint");
    expect(await attempt({}, both)).toEqual({ proved: true, addresses: ["::1"] });
    expect(web.heard).toEqual([]);
    const identifier = { type: "ip", value: "::1" } as const;
    expect(await attempt({ identifier }, both)).toMatchObject({ proved: true });
    expect(six.heard[1]).toContain(`Host: [::1]:${web.port}\r\n`);
    await six.stop();
  });

  test("P-10: an address that keeps silent is left for the next one", async () => {
    const silent = heldSocket("ipv4", 0);
    const fillers = [1, 2, 3].map(() => connect(silent.port, "127.0.0.1").on("error", () => {}));
    await until(() => fillers.some((one) => !one.connecting));
    const second = await startHttpResponder("127.0.0.2", silent.port);
    second.show("token", "token.thumbprint");
    names.zone.set("a.test", ["127.0.0.1", "127.0.0.2"].map(addressRecord));
    const settings = { http01_port: silent.port, validation_allow_networks: ["127.0.0.0/30"] };
    expect(await attempt({}, settings)).toEqual({ proved: true, addresses: ["127.0.0.2"] });
    for (const one of fillers) one.destroy();
    silent.close();
    await second.stop();
  });

  test("a wrong answer there is not made good by IPv4", async () => {
    const six = await startHttpResponder("::1", web.port);
    expect(await problem({}, both)).toMatchObject(["unauthorized", expect.stringContaining("404")]);
    expect(web.heard).toEqual([]);
    await six.stop();
  });
});

describe("SSRF: nothing inside is asked", () => {
  const rejected = [
    "rejectedIdentifier",
    expect.stringContaining("acme.validation_allow_networks"),
  ];
  const wrong = (words: string) => ["incorrectResponse", expect.stringContaining(words)];

  // biome-ignore format: the table is read by column.
  const redirects: readonly (readonly [string, (port: number) => string, unknown[]])[] = [
    ["127.0.0.1",                    (port) => `http://127.0.0.1:${port}/`,               rejected],
    ["127.0.0.1 in other notations", (port) => `http://0x7f.1:${port}/`,                  rejected],
    ["a number",                     (port) => `http://2130706433:${port}/`,              rejected],
    ["[::1]",                        (port) => `http://[::1]:${port}/`,                   rejected],
    ["mapped 127.0.0.1",             (port) => `http://[::ffff:127.0.0.1]:${port}/`,      rejected],
    ["0.0.0.0",                      (port) => `http://0.0.0.0:${port}/`,                 rejected],
    ["metadata",                     (port) => `http://169.254.169.254:${port}/latest/`,  rejected],
    ["metadata by https",            () => "https://169.254.169.254/latest/",             rejected],
    ["a name at 127.0.0.1",          (port) => `http://inside.test:${port}/`,             rejected],
    ["another port",                 (port) => `http://127.0.0.2:${port + 1}/`,           wrong("port")],
    ["the port of http by itself",   () => "http://127.0.0.2/",                           wrong("port 80")],
    ["another port of https",        (port) => `https://127.0.0.2:${port}/`,              wrong("port")],
    ["a file",                       () => "file:///etc/passwd",                          wrong("protocol")],
    ["ftp",                          () => "ftp://127.0.0.1/",                            wrong("protocol")],
    ["data",                         () => "data:text/plain,token.thumbprint",            wrong("protocol")],
    ["a user",                       (port) => `http://user@127.0.0.2:${port}/`,          wrong("user name")],
    ["a password",                   (port) => `http://:secret@127.0.0.2:${port}/`,       wrong("user name")],
    ["no address",                   () => "http://[::1",                                 wrong("no address")],
    ["a host with a blank",          () => "http://a b/",                                 wrong("no address")],
    ["10 kB",                        (port) => `http://127.0.0.2:${port}/${"x".repeat(10_240)}`, wrong("2048")],
    ["itself",                       () => wellKnown("token"),                            wrong("more than 5 times")],
    ["nowhere",                      () => "",                                            wrong("more than 5 times")],
  ];
  test.each(redirects)("by a redirect to %s", async (_what, location, expected) => {
    names.zone.set("inside.test", [addressRecord("127.0.0.1")]);
    answering(redirect(location(web.port)));
    const [type, detail = ""] = await problem();
    expect([type, detail]).toEqual(expected as string[]);
    expect(inside.heard).toEqual([]);
    // Of hosts that a redirect names nothing is told but what the redirect itself says.
    expect(detail.replace(/^\S+/, "")).not.toContain("127.0.0.1");
    expect(web.heard.length).toBeLessThanOrEqual(6);
  });

  test("by two targets, or none, of one redirect", async () => {
    for (const fields of ["", "Location: /a\r\nLocation: /b\r\n"]) {
      answering(raw(`HTTP/1.1 302 Found\r\n${fields}\r\n`));
      expect(await problem()).toEqual(wrong("not to one place"));
    }
  });

  // biome-ignore format: the table is read by column.
  test.each([
    ["a denied address",               ["127.0.0.1"]],
    ["an allowed and a denied one",    ["127.0.0.2", "127.0.0.1"]],
    ["a denied one of IPv6",           ["127.0.0.2", "::1"]],
    ["metadata",                       ["169.254.169.254"]],
    ["6to4 of loopback",               ["127.0.0.2", "2002:7f00:1::1"]],
  ])("by a name with %s", async (_what, addresses) => {
    names.zone.set("a.test", addresses.map(addressRecord));
    web.show("token", "token.thumbprint");
    expect(await problem()).toEqual(rejected as string[]);
    expect([...inside.heard, ...web.heard]).toEqual([]);
  });

  test("by an address as identifier", async () => {
    for (const value of ["127.0.0.1", "::1", "169.254.169.254", "::ffff:127.0.0.1"]) {
      expect(await problem({ identifier: { type: "ip", value } })).toEqual(rejected as string[]);
    }
    expect(inside.heard).toEqual([]);
  });

  test("P-10: DNS rebinding: the name is resolved once, also for redirects to it, and what was judged is asked", async () => {
    answering((socket, head) => {
      names.zone.set("a.test", [addressRecord("127.0.0.1")]);
      redirect(`http://a.test:${web.port}/2`)(socket, head);
    });
    web.answers.set("/2", body("token.thumbprint"));
    expect(await attempt()).toMatchObject({ proved: true });
    expect(names.heard.map(({ type }) => type).sort()).toEqual([1, 28]);
    expect(inside.heard).toEqual([]);
    // Another attempt asks again, and refuses.
    expect(await problem()).toEqual(rejected as string[]);
  });

  test("at pkid's own listeners, unless an allow network names them", async () => {
    web.show("token", "token.thumbprint");
    const asked = async (address: string, port: number, allow: readonly string[]) => {
      const settings = settingsFor(names, {
        http01_port: web.port,
        validation_deny_networks: [],
        validation_allow_networks: allow,
      });
      const { validators } = validatorsWith(
        () => settings,
        () => [{ address, port }],
      );
      return (await validators.attempt(taskFor())).proved;
    };
    for (const address of ["127.0.0.2", "0.0.0.0", "::", "::ffff:127.0.0.2", "localhost"]) {
      expect(await asked(address, web.port, []), address).toBe(false);
      expect(await asked(address, web.port, ["127.0.0.2/32"]), address).toBe(true);
      expect(await asked(address, web.port + 1, []), address).toBe(true);
    }
    expect(await asked("127.0.0.3", web.port, [])).toBe(true);
  });
});

describe("what other hosts say is not told", () => {
  test("at most 64 printable characters of the named host's own answer", async () => {
    answering(body(`<b>"secret"\\\x1b[0m\r\n${"x".repeat(100)}`));
    const [type, detail = ""] = await problem();
    expect(type).toBe("incorrectResponse");
    expect(detail).toContain(`"<b>.secret...[0m..${"x".repeat(46)}" and more`);
  });

  test("neither text nor status of where a redirect led", async () => {
    answering(redirect("/inside"));
    web.answers.set("/inside", body("secret"));
    const [, shown = ""] = await problem();
    web.answers.set("/inside", body("secret", 403));
    const [, refused = ""] = await problem();
    expect(shown + refused).not.toMatch(/secret|403/);
  });

  test("text with another status than 200", async () => {
    answering(body("token.thumbprint", 403));
    const [type, detail = ""] = await problem();
    expect([type, detail]).toEqual([
      "unauthorized",
      "The server answered with status 403, not with 200.",
    ]);
  });
});

describe("an attempt ends, and its connection with it", () => {
  const quick = { validation_timeout_seconds: 0.3 };
  const head = "HTTP/1.1 200 OK\r\n";
  // biome-ignore format: the table is read by column.
  test.each([
    ["an endless body",             endless(`${head}\r\n`, "x".repeat(900)),                           "incorrectResponse", "4096"],
    ["an endless header",           endless(head, `X-More: ${"y".repeat(900)}\r\n`),                   "incorrectResponse", "16384"],
    ["endless chunks",              endless(`${head}Transfer-Encoding: chunked\r\n\r\n`, `384\r\n${"x".repeat(900)}\r\n`), "incorrectResponse", "4096"],
    ["a huge chunk",                endless(`${head}Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n`, "x"), "incorrectResponse", "4096"],
    ["a slow body",                 endless(`${head}Content-Length: 4096\r\n\r\n`, "x"),               "connection", "time"],
    ["a slow header",               endless("H", "T"),                                                 "connection", "time"],
    ["silence",                     () => {},                                                          "connection", "time"],
    ["an answer that is cut off",   raw(`${head}Content-Length: 16\r\n\r\ntoken`),                     "connection", "closed"],
    ["nothing",                     raw(""),                                                           "connection", "closed"],
    ["another protocol",            raw("220 mail.test ESMTP\r\n\r\n"),                                "incorrectResponse", "HTTP"],
  ] as const)("with %s", async (_what, answer: Answer, type, words) => {
    answering(answer);
    const settings = words === "time" ? quick : {};
    expect(await problem({}, settings)).toEqual([type, expect.stringContaining(words)]);
    await until(() => web.open() === 0);
  });

  test("with nobody who listens", async () => {
    const [type, detail] = await problem({}, { http01_port: 1 });
    expect([type, detail]).toEqual([
      "connection",
      "No connection to port 1 (IPv4: connection refused).",
    ]);
  });

  test("with a name that has no address, or a name server that fails", async () => {
    expect(await problem({ identifier: { type: "dns", value: "none.test" } })).toEqual([
      "dns",
      "none.test has no address in the DNS.",
    ]);
    names.tricks.set("a.test", { kind: "code", code: 2 });
    expect(await problem()).toEqual(["dns", "The DNS did not answer for a.test: SERVFAIL."]);
    names.tricks.set("a.test", { kind: "silence" });
    expect(await problem({}, quick)).toEqual(["dns", expect.stringContaining("in time")]);
  });

  test("with what it cannot prove, before anybody is asked", async () => {
    expect(await problem({ wildcard: true })).toEqual([
      "rejectedIdentifier",
      "http-01 cannot prove control over a wildcard.",
    ]);
    expect(names.heard).toEqual([]);
  });
});
