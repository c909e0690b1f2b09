/** http-01 against web servers that are right, wrong, slow, endless, or lead elsewhere. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

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
  web = await startHttpResponder("127.0.0.2");
  inside = await startHttpResponder("127.0.0.1", web.port);
  inside.show("token", "token.thumbprint");
});
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

  test("a wrong answer there is not made good by IPv4", async () => {
    const six = await startHttpResponder("::1", web.port);
    expect(await problem({}, both)).toMatchObject(["unauthorized", expect.stringContaining("404")]);
    expect(web.heard).toEqual([]);
    await six.stop();
  });
});
