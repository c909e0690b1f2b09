/** Cookies of a login: written with every attribute, read without believing anything. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { Problem } from "#core/problems.ts";
import { Cookies, cookieOf } from "#http/cookies.ts";
import { requireCsrfToken, requireOwnOrigin } from "#http/csrf.ts";

const cookies = new Cookies({ name: "pki_session", insecure: false });

describe("cookies", () => {
  test("have the attributes of the contract", () => {
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
    const insecure = new Cookies({ name: "s", insecure: true });
    expect(insecure.opened("ID", "C", 1)).toEqual([
      "s=ID; Max-Age=1; Path=/; HttpOnly; SameSite=Lax",
      "s_csrf=C; Max-Age=1; Path=/; SameSite=Lax",
    ]);
  });

  test("of a name that browsers guard have what they ask for", () => {
    const guarded = new Cookies({ name: "__Host-pki", insecure: false });
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

describe("the origin of a login", () => {
  const check = (url: string, origin: string | undefined, publicUrl?: string) => {
    const headers = { host: new URL(url).host, ...(origin === undefined ? {} : { origin }) };
    return refused(() => requireOwnOrigin(new Request(url, { headers }), publicUrl));
  };

  test("is the server's own, or not said by a client that is no browser", () => {
    expect(check("https://pki.test:8443/", undefined)).toBeUndefined();
    expect(check("https://pki.test:8443/", "https://pki.test:8443")).toBeUndefined();
    expect(check("https://pki.test/", "https://pki.test")).toBeUndefined();
    expect(check("https://10.0.0.1/", "https://pki.test", "https://pki.test/base")).toBeUndefined();
    // A proxy ended TLS: the browser saw another scheme than this process does.
    expect(check("http://pki.test/", "https://pki.test")).toBeUndefined();
  });

  test("of any other page is refused", () => {
    for (const origin of [
      ...["null", "", "https://evil.test", "http://pki.test:8443", "https://pki.test"],
      ...["https://pki.test:8443.evil.test", "https://pki.test:8443/", "https://sub.pki.test:8443"],
    ]) {
      expect([origin, check("https://pki.test:8443/", origin)]).toEqual([origin, "csrf_failed"]);
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
