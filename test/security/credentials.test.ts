/**
 * Credentials nobody gave out, in raw octets: none of them is anybody's, breaks anything, or is
 * told back.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";

import { Instance } from "#test/support/instances/instance.ts";
import { cookieIn, logIn, type Person, send } from "#test/support/instances/person.ts";
import { RawConnection } from "#test/support/tls/raw-tls.ts";

const password = "correct horse battery staple";
let instance: Instance;
let connection: RawConnection;
let secret: string;
let person: Person;

beforeAll(async () => {
  instance = await Instance.start({ config: { root_user: { password } } });
  connection = new RawConnection(instance);
  secret = await instance.token(["admin"], { scope: "platform" });
  person = await logIn(instance, password);
}, 30_000);

afterAll(async () => {
  connection.close();
  await instance.dispose();
});

const ask = (headers: string) =>
  connection.ask(Buffer.from(`GET /api/me HTTP/1.1\r\nHost: x\r\n${headers}\r\n`, "latin1"));

/** Any octet a header may hold, printable ones more often. */
const octet = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0x21, max: 0x7e }) },
  { weight: 1, arbitrary: fc.integer({ min: 0x01, max: 0xff }) },
);
const noise = (max: number) =>
  fc
    .array(octet, { maxLength: max })
    .map((octets) => String.fromCharCode(...octets).replaceAll(/[\r\n]/g, "x"));

/** The text with one character changed, left out or added. */
const slip = (text: () => string) =>
  fc
    .record({ at: fc.nat(), kind: fc.constantFrom("change", "drop", "add"), other: noise(1) })
    .map(({ at, kind, other }) => {
      const [whole, place] = [text(), at % text().length];
      const with_ = other.trim() === "" || other === whole[place] ? "!" : other;
      const rest = whole.slice(place + (kind === "add" ? 0 : 1));
      return `${whole.slice(0, place)}${kind === "drop" ? "" : with_}${rest}`;
    });

const id = () => cookieIn(person.cookie, "pki_session");

/**
 * Refused, in our own words or those of the runtime, and nothing of what was presented is in the
 * answer.
 */
async function refused(headers: string, presented: string): Promise<void> {
  const answer = await ask(headers);
  expect([headers, /^HTTP\/1\.1 (400|401|431) /.test(answer)]).toEqual([headers, true]);
  if (presented.length < 12) return;
  expect([headers, answer.includes(presented)]).toEqual([headers, false]);
}

describe("an Authorization", () => {
  test("of any octets is nobody's", async () => {
    const scheme = fc.constantFrom(
      "",
      "Basic ",
      "bAsIc ",
      "Token ",
      "Bearer ",
      "Bearer pki_pat_",
      "Negotiate ",
    );
    await fc.assert(
      fc.asyncProperty(scheme, noise(120), async (before, value) => {
        await refused(`Authorization: ${before}${value}\r\n`, value);
      }),
      { numRuns: 250 },
    );
  }, 30_000);

  test("one slip away from a token is nobody's", async () => {
    const schemes = fc.constantFrom("Token", "token", "Bearer");
    await fc.assert(
      fc.asyncProperty(
        schemes,
        slip(() => secret),
        async (scheme, value) => {
          await refused(`Authorization: ${scheme} ${value}\r\n`, value);
        },
      ),
      { numRuns: 250 },
    );
    expect(await ask(`Authorization: Token ${secret}\r\n`)).toStartWith("HTTP/1.1 200");
  }, 30_000);

  test("that says root and something else is nobody's", async () => {
    const wrong = [
      ":",
      "",
      "root",
      "root:",
      `:${password}`,
      `ROOT:${password}`,
      `root :${password}`,
    ];
    for (const pair of [
      ...wrong,
      `root:${password} `,
      `root:${password}\0`,
      `root\0:${password}`,
    ]) {
      const value = Buffer.from(pair).toString("base64");
      await refused(`Authorization: Basic ${value}\r\n`, value);
    }
    const right = Buffer.from(`root:${password}`).toString("base64");
    for (const value of [
      `${right}=`,
      `${right}!`,
      right.slice(1),
      right.toLowerCase(),
      `${right},x`,
    ]) {
      await refused(`Authorization: Basic ${value}\r\n`, value);
    }
  }, 30_000);

  test("given twice, whole or in halves, is nobody's", async () => {
    const [first, second] = [secret.slice(0, 20), secret.slice(20)];
    for (const headers of [
      `Authorization: Token ${secret}\r\nAuthorization: Token ${secret}\r\n`,
      `Authorization: Token ${first}\r\nAuthorization: ${second}\r\n`,
      `Authorization: Token ${secret}, Token ${secret}\r\n`,
      `Authorization: Basic x\r\nAuthorization: Token ${secret}\r\n`,
      `Proxy-Authorization: Token ${secret}\r\n`,
    ]) {
      await refused(headers, secret);
    }
  });
});

describe("a cookie", () => {
  test("of any octets opens no session", async () => {
    const names = fc.constantFrom(
      "pki_session",
      "pki_session_csrf",
      "PKI_SESSION",
      "__Host-pki_session",
      "",
      " ",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(names, noise(60)), { maxLength: 4 }), async (pairs) => {
        const cookie = pairs.map(([name, value]) => `${name}=${value}`).join("; ");
        await refused(`Cookie: ${cookie}\r\n`, cookie);
      }),
      { numRuns: 250 },
    );
  }, 30_000);

  test("one slip away from a session opens none", async () => {
    await fc.assert(
      fc.asyncProperty(slip(id), async (value) => {
        await refused(`Cookie: pki_session=${value.replaceAll(/[; ]/g, "!")}\r\n`, value);
      }),
      { numRuns: 250 },
    );
    const escaped = `%${id().charCodeAt(0).toString(16)}${id().slice(1)}`;
    for (const value of [escaped, `"${id()}"`, `${id()} x`, `${id()},x`, id().toUpperCase()]) {
      await refused(`Cookie: pki_session=${value}\r\n`, value);
    }
    for (const name of [
      "pki_session ",
      "xpki_session",
      "pki_session_csrf",
      "$pki_session",
      "Pki_session",
    ]) {
      await refused(`Cookie: ${name}=${id()}\r\n`, id());
    }
    expect(await ask(`Cookie: pki_session=${id()}\r\n`)).toStartWith("HTTP/1.1 200");
  }, 30_000);

  test("of two sessions, or set beside the own one by a neighbouring host, opens neither", async () => {
    const other = cookieIn((await logIn(instance, password)).cookie, "pki_session");
    for (const headers of [
      `Cookie: pki_session=${id()}; pki_session=${other}\r\n`,
      `Cookie: pki_session=${other}\r\nCookie: pki_session=${id()}\r\n`,
      `Cookie: pki_session=; pki_session=${id()}\r\n`,
    ]) {
      await refused(headers, id());
    }
  });

  test("does nothing for a request with a credential that is wrong", async () => {
    for (const authorization of ["Token x", "Bearer x", "Basic x", `Basic ${btoa("root:x")}`]) {
      await refused(`Authorization: ${authorization}\r\nCookie: pki_session=${id()}\r\n`, id());
    }
  });
});

describe("planting a session", () => {
  test("opens none, and whoever logs in over one is given another", async () => {
    const planted = { cookie: `pki_session=${"A".repeat(43)}; pki_session_csrf=${"B".repeat(43)}` };
    const mine = await logIn(instance, password, "root", planted);
    const again = await logIn(instance, password, "root", mine);
    const ids = [planted, mine, again].map(({ cookie }) => cookieIn(cookie, "pki_session"));
    const tokens = [mine, again].map((one) => one["x-csrf-token"]);
    expect([new Set(ids).size, new Set(tokens).size]).toEqual([3, 2]);
    expect((await send(instance, planted, "GET", "/api/me")).status).toBe(401);
    // The token of the session that was logged in over is no token of the new one.
    const mixed = { cookie: again.cookie ?? "", "x-csrf-token": mine["x-csrf-token"] ?? "" };
    expect((await send(instance, mixed, "POST", "/auth/logout")).body.code).toBe("csrf_failed");
  });
});

test("afterwards nothing has failed, nobody else is logged in, and no token was made", async () => {
  expect(instance.logs.filter((line) => /request_failed|"crash"/.test(line))).toEqual([]);
  const actions = await instance.admin<{ items: { action: string; result: string }[] }>(
    "GET",
    "/api/events?limit=500",
  );
  const logins = actions.items.filter(({ action }) => action === "auth.login");
  expect(logins).toHaveLength(4);
  const text = instance.logs.join("\n") + JSON.stringify(actions.items);
  for (const value of [secret, id(), password, person["x-csrf-token"] ?? "missing"]) {
    expect(text).not.toContain(value);
  }
});
