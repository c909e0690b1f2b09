/** Cookies of a login: written with every attribute, read without believing anything. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { Problem } from "#core/problems.ts";
import { Cookies, cookieOf } from "#http/cookies.ts";
import { OwnPages, requireCsrfToken, requireJsonOfBrowsers } from "#http/csrf.ts";

const cookies = new Cookies({ cookie_name: "pki_session", insecure: false });

describe("cookies", () => {
  test("have every attribute that keeps them from others", () => {
    expect(cookies.opened("ID", "CSRF", 3600)).toEqual([
      "pki_session=ID; Max-Age=3600; Path=/; HttpOnly; Secure; SameSite=Lax",
      "pki_session_csrf=CSRF; Max-Age=3600; Path=/; Secure; SameSite=Lax",
    ]);
    expect(cookies.began("TX", 600)).toBe(
      "pki_session_oidc_tx=TX; Max-Age=600; Path=/auth; HttpOnly; Secure; SameSite=Lax",
    );
  });

  test("are removed under the attributes they were set with", () => {
    expect(cookies.closed()).toEqual([
      "pki_session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax",
      "pki_session_csrf=; Max-Age=0; Path=/; Secure; SameSite=Lax",
    ]);
    expect(cookies.over()).toContain("pki_session_oidc_tx=; Max-Age=0; Path=/auth;");
  });

  test("lose Secure, and nothing else, where tests run without TLS", () => {
    const insecure = new Cookies({ cookie_name: "s", insecure: true });
    expect(insecure.opened("ID", "C", 1)).toEqual([
      "s=ID; Max-Age=1; Path=/; HttpOnly; SameSite=Lax",
      "s_csrf=C; Max-Age=1; Path=/; SameSite=Lax",
    ]);
  });

  test("of a name that browsers guard have what they ask for", () => {
    const guarded = new Cookies({ cookie_name: "__Host-pki", insecure: false });
    expect([...guarded.opened("ID", "C", 1), guarded.began("TX", 1), guarded.over()]).toEqual([
      "__Host-pki=ID; Max-Age=1; Path=/; HttpOnly; Secure; SameSite=Lax",
      "__Host-pki_csrf=C; Max-Age=1; Path=/; Secure; SameSite=Lax",
      "__Host-pki_oidc_tx=TX; Max-Age=1; Path=/; HttpOnly; Secure; SameSite=Lax",
      "__Host-pki_oidc_tx=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax",
    ]);
  });

  test("are found by their whole name, and two of one name are none", () => {
    expect(cookieOf("a=1; pki_session=x;b=2", "pki_session")).toBe("x");
    expect(cookieOf("pki_session_csrf=x; xpki_session=y", "pki_session")).toBeUndefined();
    expect(cookieOf("pki_session=x; pki_session=y", "pki_session")).toBeUndefined();
    expect(cookieOf("pki_session=x; pki_session=", "pki_session")).toBeUndefined();
    expect(cookieOf("pki_session=", "pki_session")).toBeUndefined();
    expect(cookieOf(null, "pki_session")).toBeUndefined();
  });

  test("of any shape are read or not found, and nothing is thrown", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (head, value) => {
        const found = cookieOf(`${head}; pki_session=${value}`, "pki_session");
        expect(found === undefined || found !== "").toBe(true);
      }),
    );
  });
});

describe("the CSRF token", () => {
  const request = (method: string, token?: string) =>
    new Request("https://pki.test/", {
      method,
      headers: token === undefined ? {} : { "x-csrf-token": token },
    });

  test("is needed, whole, for every method that changes something", () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"]) {
      for (const token of [undefined, "", "toke", "token2", "TOKEN"]) {
        expect(refused(() => requireCsrfToken(request(method, token), "token"))).toBe(
          "csrf_failed",
        );
      }
      expect(refused(() => requireCsrfToken(request(method, "token"), "token"))).toBeUndefined();
    }
  });

  test("is not needed to read", () => {
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      expect(refused(() => requireCsrfToken(request(method), "token"))).toBeUndefined();
    }
  });
});

describe("the page that asks for a change", () => {
  const check = (
    url: string,
    origin: string | undefined,
    { own, site, method = "POST" }: { own?: string; site?: string; method?: string } = {},
  ) => {
    const headers = new Headers({ host: new URL(url).host });
    if (origin !== undefined) headers.set("origin", origin);
    if (site !== undefined) headers.set("sec-fetch-site", site);
    const pages = new OwnPages(own === undefined ? [] : [own]);
    const request = new Request(url, { headers, method });
    return refused(() => pages.guard(request, url.startsWith("https:")));
  };

  test("is the server's own, or not said by a client that is no browser", () => {
    expect(check("https://pki.test:8443/", undefined)).toBeUndefined();
    expect(check("https://pki.test:8443/", "https://pki.test:8443")).toBeUndefined();
    expect(check("https://pki.test/", "https://pki.test")).toBeUndefined();
    const own = "https://pki.test/base";
    expect(check("https://10.0.0.1/", "https://pki.test", { own })).toBeUndefined();
    // A proxy ended TLS: the browser saw another scheme than this process does.
    expect(check("http://pki.test/", "https://pki.test")).toBeUndefined();
    for (const site of ["same-origin", "none"]) {
      expect(check("https://pki.test/", "https://pki.test", { site })).toBeUndefined();
      expect(check("https://pki.test/", undefined, { site })).toBeUndefined();
    }
  });

  test("of any other origin is refused, and may read", () => {
    for (const origin of [
      "null",
      "",
      "https://evil.test",
      "http://pki.test:8443",
      "https://pki.test",
      "https://pki.test:8443.evil.test",
      "https://pki.test:8443/",
      "https://sub.pki.test:8443",
    ]) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        const said = check("https://pki.test:8443/", origin, { method });
        expect([origin, said]).toEqual([origin, "csrf_failed"]);
      }
      for (const method of ["GET", "HEAD", "OPTIONS"]) {
        expect(check("https://pki.test:8443/", origin, { method })).toBeUndefined();
      }
    }
  });

  test("of another site or another host of this site is refused, whatever origin it has", () => {
    for (const site of ["cross-site", "same-site", "", "unheard-of"]) {
      for (const origin of [undefined, "https://pki.test"]) {
        expect([site, check("https://pki.test/", origin, { site })]).toEqual([site, "csrf_failed"]);
      }
    }
  });

  test("sends JSON or is refused, with a body or without; who is no browser sends what it likes", () => {
    const said = (headers: Readonly<Record<string, string>>, method = "POST") =>
      refused(() => requireJsonOfBrowsers(new Request("https://pki.test/", { headers, method })));
    const types = ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""];
    for (const field of ["origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"]) {
      for (const type of types) {
        const headers = { [field]: "same-origin", "content-type": type };
        expect([type, said(headers)]).toEqual([type, "unsupported_media_type"]);
        expect(said({ "content-type": type })).toBeUndefined();
        expect(said(headers, "GET")).toBeUndefined();
      }
      expect(said({ [field]: "x", "content-type": "application/json" })).toBeUndefined();
    }
  });
});

function refused(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}
