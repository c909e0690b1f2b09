/** The router: every row is reachable, every near miss is not. */

import { describe, expect, test } from "bun:test";

import { type OperationName, operationOf, operations, routeOf, routesOf } from "#operations";

import { reachable, Routes } from "#http/router.ts";

const names = Object.keys(operations) as OperationName[]; // The table's own keys.
const rows = names.map((name) => [name, operationOf(name)] as const);
const routes = new Routes(reachable("local", rows));

/** The path of a row with a value for every parameter. */
function examplePath(name: OperationName): string {
  return routeOf(name)
    .path.replace("{request*}", "MEQ%2Fab//c+d==")
    .replace(/\{[a-z_]+\}/g, "x1");
}

describe("every row of the operations table", () => {
  test.each(names)("%s is reached by its own route", (name) => {
    const { method, path } = routeOf(name);
    const found = routes.find(method, examplePath(name));
    expect(found).toMatchObject({ kind: "operation", match: { operation: name, route: path } });
  });

  test.each(names)("%s is reached by every alias, with the same parameters", (name) => {
    const [own, ...aliases] = routesOf(operationOf(name));
    for (const { method, path } of aliases) {
      const found = routes.find(method, path.replace(/\{[a-z_]+\}/g, "x1"));
      expect(found).toMatchObject({ kind: "operation", match: { operation: name, route: path } });
      expect(path.match(/\{[^}]*\}/g)).toEqual(own?.path.match(/\{[^}]*\}/g) ?? null);
    }
  });

  test.each(names)("%s is not reached by a near miss", (name) => {
    const { method } = routeOf(name);
    const path = examplePath(name);
    for (const miss of nearMisses(path)) {
      const found = routes.find(method, miss);
      if (found.kind === "operation") expect([miss, found.match.operation]).not.toContain(name);
    }
    for (const miss of [`${path.split("//")[0]}/`, `/x${path}`, `${path.toUpperCase()}`]) {
      if (routeOf(name).path.includes("*")) continue;
      expect([miss, routes.find(method, miss).kind]).toEqual([miss, "nothing"]);
    }
  });

  test.each(names)("%s answers HEAD exactly when it answers GET", (name) => {
    const found = routes.find("HEAD", examplePath(name));
    const sameAsGet = routes.find("GET", examplePath(name));
    expect(found).toEqual(sameAsGet);
  });
});

/** Paths one slip away: a letter more or less, another separator, another case. */
function nearMisses(path: string): readonly string[] {
  const misses = [`/${path.slice(2)}`, `${path.slice(0, 4).toUpperCase()}${path.slice(4)}`];
  if (path.includes(":")) {
    misses.push(path.replace(":", "x"), path.replace(":", "/"), path.replace(":", "%3A"));
    misses.push(`${path}x`, path.replace(/:[a-z]+$/, ":"), path.replace(/:([a-z])/, ":x$1"));
  }
  return misses;
}

test("the other names of CAs are aliases", () => {
  const reached = (method: string, path: string) => {
    const found = routes.find(method, path);
    return found.kind === "operation" ? found.match.operation : found.kind;
  };
  expect(reached("GET", "/api/keys")).toBe("ca.list");
  expect(reached("GET", "/api/keys/a")).toBe("ca.show");
  expect(reached("DELETE", "/api/keys/a")).toBe("ca.delete");
  expect(reached("GET", "/api/keys/a/public-key")).toBe("ca.public_key");
  expect(reached("POST", "/api/keys")).toBe("method");
  expect(reached("POST", "/api/keys/a/rotate")).toBe("nothing");
});

describe("paths", () => {
  test("a colon verb that no row has is no operation", () => {
    expect(routes.find("POST", "/api/ca/a/crl:publisher").kind).toBe("nothing");
    expect(routes.find("POST", "/api/ca/a/crl:Publish").kind).toBe("nothing");
    expect(routes.find("POST", "/api/ca/a/crlxpublish").kind).toBe("nothing");
    expect(routes.find("POST", "/api/ca/a/x:publish").kind).toBe("nothing");
    expect(routes.find("POST", "/api/ca/a/certificates/7:suspended").kind).toBe("method");
  });

  test("a verb is split off at the last colon, so a serial in colon-hex keeps its own", () => {
    expect(routes.find("POST", "/api/ca/a/certificates/0a:0b:suspend")).toMatchObject({
      match: { operation: "cert.suspend", path: { id: "a", serial: "0a:0b" } },
    });
    expect(routes.find("GET", "/api/ca/a/certificates/0a:0b")).toMatchObject({
      match: { operation: "cert.show", path: { serial: "0a:0b" } },
    });
  });

  test("another method on a known path names the methods it takes", () => {
    expect(routes.find("DELETE", "/api/ca")).toEqual({ kind: "method", allow: ["GET", "HEAD"] });
    expect(routes.find("OPTIONS", "/api/tokens")).toEqual({
      kind: "method",
      allow: ["GET", "HEAD", "POST"],
    });
    expect(routes.find("GET", "/api/ca/init-root")).toEqual({ kind: "method", allow: ["POST"] });
    expect(routes.find("GET", "/api/ca/a/crl:publish")).toEqual({
      kind: "method",
      allow: ["POST"],
    });
  });

  test("segments are percent-decoded once, the rest of a path not at all", () => {
    expect(routes.find("GET", "/api/ca/a%2Fb%252F")).toMatchObject({
      match: { path: { id: "a/b%2F" } },
    });
    expect(routes.find("GET", "/api/ca/a/ocsp/MEQ%2F//ab+/=")).toMatchObject({
      match: { operation: "ocsp.get", path: { id: "a", request: "MEQ%2F//ab+/=" } },
    });
    expect(routes.find("GET", "/api/ca/%ff").kind).toBe("nothing");
    expect(routes.find("GET", "/%61pi/ca").kind).toBe("nothing");
  });

  test("a protocol is found wherever it is mounted, and nowhere else", () => {
    const places = [
      { directory: "default", path: "/acme" },
      { directory: "devices", path: "/pki/devices" },
    ];
    const mounted = new Routes(reachable("main", rows), { acme: places });
    for (const { directory, path } of places) {
      expect(mounted.find("HEAD", `${path}/new-nonce`)).toMatchObject({
        match: { operation: "acme.nonce", path: { directory } },
      });
      expect(mounted.find("POST", `${path}/order/one/finalize`)).toMatchObject({
        match: { operation: "acme.order.finalize", path: { directory, order: "one" } },
      });
      expect(mounted.find("GET", `${path}/new-order`)).toEqual({
        kind: "method",
        allow: ["POST"],
        speaks: "acme",
      });
      expect(mounted.find("GET", `${path}/nowhere`)).toEqual({ kind: "nothing", speaks: "acme" });
    }
    expect(mounted.find("GET", "/pki/new-nonce")).toEqual({ kind: "nothing" });
  });

  test("the cleartext door knows only what relying parties fetch", () => {
    expect(
      reachable("public", rows)
        .map(([name]) => name)
        .sort(),
    ).toEqual(
      [
        "acme.directory",
        "acme.nonce",
        "acme.renewal_info",
        "ca.certificate",
        "ca.chain",
        "ca.chains",
        "ca.cross_chain",
        "crl.read",
        "crl.delta",
        "crl.partition",
        "crl.partition_delta",
        "ocsp.get",
        "ocsp.post",
      ].sort() as OperationName[],
    );
  });
});
