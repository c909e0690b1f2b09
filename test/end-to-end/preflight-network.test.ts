/**
 * Preflight of the binary against name servers, transparency logs, relying-party addresses and TLS,
 * sound and broken.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { instant } from "#core/time.ts";
import { CtLog } from "#test/support/servers/ct-log.ts";
import { type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";
import { command } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { said } from "#test/support/instances/preflight.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";

const web = { name: "web", key_usages: ["digitalSignature"], ext_key_usages: ["serverAuth"] };

describe("revocation.urls", () => {
  /** What relying parties reach: the instance, unless a test puts something in between. */
  let between: (request: Request, through: () => Promise<Response>) => Promise<Response>;
  let door: ReturnType<typeof Bun.serve>;
  let instance: Instance;

  const statusOf = async () => (await said(instance.home, "revocation.urls")).status;
  const detailOf = async () => (await said(instance.home, "revocation.urls")).detail;

  beforeAll(async () => {
    door = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => {
        const { pathname } = new URL(request.url);
        const through = async () => {
          const { method } = request;
          const headers = { "content-type": request.headers.get("content-type") ?? "" };
          const body = method === "POST" ? await request.arrayBuffer() : null;
          return fetch(instance.publicUrl + pathname, { method, headers, body });
        };
        return between(request, through);
      },
    });
    const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };
    const config = { server, crl: { base_url: `http://127.0.0.1:${door.port}` } };
    instance = await Instance.start({ config });
    await command(instance, ["ca", "init-root", "--label", "root", "--cn", "Root"]);
  }, 30_000);
  beforeEach(() => {
    between = (_request, through) => through();
  });
  afterAll(async () => {
    await instance.dispose();
    await door.stop(true);
  }, 30_000);

  test("is passed over while no CA has issued, and without the network", async () => {
    expect(await statusOf()).toBe("skip");
    await newCsr(instance.home, "a.example.test");
    const csr = join(instance.home, "a.example.test.csr");
    await command(instance, ["cert", "issue", "--ca", "root", "--csr", csr]);
    const off = await said(instance.home, "revocation.urls", { flags: ["--no-network"] });
    expect(off).toMatchObject({ status: "skip", detail: "--no-network was given." });
  });

  test("passes when CRL, OCSP and issuer answer with what belongs there", async () => {
    expect(await said(instance.home, "revocation.urls")).toMatchObject({
      status: "pass",
      detail: "3 places answer with what belongs there.",
    });
  });

  test("fails for each place that does not answer, redirects, or answers with something else", async () => {
    const at = (part: string, answer: () => Response) => {
      between = async (request, through) =>
        new URL(request.url).pathname.endsWith(part) ? answer() : through();
    };
    at("/crl", () => new Response("", { status: 502 }));
    expect(await detailOf()).toContain("/crl: answers 502.");
    at("/ocsp", () => Response.redirect("/again", 302));
    expect(await detailOf()).toContain("/ocsp: redirects (302).");
    at("/certificate", () => new Response("<html>"));
    expect(await detailOf()).toContain("/certificate: it is not a certificate in DER.");
    at("/ocsp", () => new Response("<html>"));
    expect(await statusOf()).toBe("fail");
  });

  test("fails for the CRL, the answer and the certificate of another CA", async () => {
    const other = await command(instance, ["ca", "init-root", "--label", "other", "--cn", "Other"]);
    between = async (request, through) => {
      const path = new URL(request.url).pathname.replace(/\/ca\/[^/]+\//, `/ca/${other.id}/`);
      return request.method === "POST" ? through() : fetch(instance.publicUrl + path);
    };
    const detail = await detailOf();
    expect(detail).toContain("/crl: it is not signed by this CA.");
    expect(detail).toContain("/certificate: it is not the certificate of this CA.");
  });

  test("fails when the answer says good of a certificate that is revoked, and warns of a slow place", async () => {
    between = async (_request, through) => {
      await Bun.sleep(1100);
      return through();
    };
    expect(await said(instance.home, "revocation.urls")).toMatchObject({
      status: "warn",
      detail: expect.stringMatching(/took [1-9]/),
    });
    const kept = new Map<string, ArrayBuffer>();
    between = async (request, through) => {
      const path = new URL(request.url).pathname;
      const octets = kept.get(path) ?? (await (await through()).arrayBuffer());
      kept.set(path, octets);
      return new Response(octets);
    };
    expect(await statusOf()).toBe("pass");
    const { items } = await instance.admin<{ items: { serial: string }[] }>(
      "GET",
      `/api/ca/${(await command(instance, ["ca", "show", "root"])).id}/certificates`,
    );
    await command(instance, ["revoke", "cert", "--ca", "root", items[0]?.serial ?? ""]);
    expect(await detailOf()).toContain("it says good of a certificate that is revoked");
  }, 30_000);
});

describe("dns.resolver", () => {
  let dns: DnsServer;
  let home: string;
  beforeAll(async () => {
    dns = await startDnsServer();
    home = newHome();
  });
  afterAll(async () => {
    await dns.stop();
    rmSync(home, { recursive: true, force: true });
  });
  const resolver = (address: string, mode = "enforce") =>
    writeConfig(home, {
      caa: { identifier: "pki.example.test", dns_resolver: address },
      profiles: [{ ...web, caa: { mode } }],
    });
  const statusOf = async (flags: readonly string[] = []) =>
    (await said(home, "dns.resolver", { flags })).status;

  test("is passed over where nobody asks the DNS", async () => {
    resolver(`127.0.0.1:${dns.port}`, "off");
    expect(await statusOf()).toBe("skip");
  });

  test("passes for one that validates, warns of one that does not say so or is slow, fails for silence", async () => {
    resolver(`127.0.0.1:${dns.port}`);
    expect(await statusOf()).toBe("pass");
    dns.authenticated = false;
    expect(await said(home, "dns.resolver")).toMatchObject({
      status: "warn",
      detail: expect.stringContaining("DNSSEC"),
    });
    dns.authenticated = true;
    dns.tricks.set("", { kind: "delay", milliseconds: 600 });
    expect(await statusOf()).toBe("warn");
    dns.tricks.set("", { kind: "silence" });
    expect(await statusOf(["--timeout", "2s"])).toBe("fail");
    dns.tricks.set("", { kind: "code", code: 5 });
    expect(await said(home, "dns.resolver")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("refused"),
    });
    dns.tricks.delete("");
    resolver("127.0.0.1:9");
    expect(await statusOf()).toBe("fail");
  }, 30_000);
});

describe("ct.logs", () => {
  const openLog = () => new CtLog({ now: () => instant(Date.now()) });

  test("passes while logs enough answer, warns of one that is silent, fails when too few are left", async () => {
    const [one, two, three] = [openLog(), openLog(), openLog()] as const;
    const home = newHome();
    const logs = [one, two, three].map((log, index) => ({
      name: `log-${index}`,
      url: log.url,
      operator: `operator-${index}`,
      public_key: log.spki.toBase64(),
    }));
    const ct = { enabled: true, min_scts: 2, min_distinct_operators: 2 };
    writeConfig(home, { certificate_transparency: { logs }, profiles: [{ ...web, ct }] });
    const statusOf = async () => (await said(home, "ct.logs")).status;
    try {
      expect(await statusOf()).toBe("pass");
      await one.stop();
      expect(await said(home, "ct.logs")).toMatchObject({
        status: "warn",
        detail: expect.stringContaining("log-0 does not answer"),
      });
      await two.stop();
      expect(await said(home, "ct.logs")).toMatchObject({
        status: "fail",
        detail: expect.stringContaining("web needs 2 promises, and 1 logs"),
      });
      writeConfig(home, {});
      expect(await statusOf()).toBe("skip");
    } finally {
      await three.stop();
      rmSync(home, { recursive: true, force: true });
    }
  }, 30_000);
});

describe("listener.tls and certs.serving_expiry", () => {
  let home: string;
  beforeAll(() => {
    home = newHome();
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  /** A pair of the operator's own, for a name, ending after some days. */
  async function pair(name: string, days: number): Promise<void> {
    await openssl([
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-subj",
      `/CN=${name}`,
      "-addext",
      `subjectAltName=DNS:${name}`,
      "-days",
      String(days),
      "-keyout",
      join(home, "tls.key"),
      "-out",
      join(home, "tls.pem"),
    ]);
  }
  const server = (more: object = {}) => ({
    server: { tls_cert: join(home, "tls.pem"), tls_key: join(home, "tls.key"), ...more },
  });
  const statuses = async () => [
    (await said(home, "listener.tls")).status,
    (await said(home, "certs.serving_expiry")).status,
  ];

  test("pass for the certificate pkid makes for itself", async () => {
    const instance = await Instance.start();
    try {
      expect(await said(instance.home, "listener.tls")).toMatchObject({
        status: "pass",
        detail: expect.stringContaining("TLSv1."),
      });
      expect((await said(instance.home, "certs.serving_expiry")).status).toBe("pass");
    } finally {
      await instance.dispose();
    }
  });

  test("look at files alone without a server, and fail for a key that is another", async () => {
    await pair("pki.example.test", 300);
    writeConfig(home, server());
    expect(await statuses()).toEqual(["pass", "skip"]);
    const wrong = await openssl([
      "genpkey",
      "-algorithm",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
    ]);
    writeFileSync(join(home, "tls.key"), wrong.text.slice(wrong.text.indexOf("-----BEGIN")));
    // Such a pair keeps a server from starting; config.parse says the same.
    expect((await said(home, "config.parse")).status).toBe("fail");
  });

  test("warn of a certificate that is replaced but not taken up, or ends soon, and fail for another name", async () => {
    await pair("pki.example.test", 300);
    const instance = await Instance.start({ home, config: server() });
    try {
      expect(await statuses()).toEqual(["pass", "pass"]);
      await pair("pki.example.test", 10);
      expect(await said(home, "listener.tls")).toMatchObject({
        status: "warn",
        detail: expect.stringContaining("not the one in the files"),
      });
      instance.signal("SIGHUP");
      await instance.logged("serving_certificate_rotated");
      expect(await statuses()).toEqual(["pass", "warn"]);
    } finally {
      await instance.stop();
    }
    await pair("other.example.test", 300);
    const config = server({ public_url: "https://pki.example.test" });
    const named = await Instance.start({ home, config });
    try {
      expect(await said(home, "certs.serving_expiry")).toMatchObject({
        status: "fail",
        detail: expect.stringContaining("not for pki.example.test"),
      });
    } finally {
      await named.stop();
    }
  }, 30_000);

  test("warn of a path that ends with the certificate itself", async () => {
    const ca = ["-subj", "/CN=CA", "-keyout", join(home, "ca.key"), "-out", join(home, "ca.pem")];
    await openssl(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "300", ...ca]);
    await newCsr(home, "leaf.example.test");
    const signed = await openssl([
      "x509",
      "-req",
      "-in",
      join(home, "leaf.example.test.csr"),
      "-CA",
      join(home, "ca.pem"),
      "-CAkey",
      join(home, "ca.key"),
      "-days",
      "300",
      "-out",
      join(home, "tls.pem"),
    ]);
    expect(signed.code).toBe(0);
    saved(home, "tls.key", await Bun.file(join(home, "leaf.example.test.key")).text());
    writeConfig(home, server());
    expect(await said(home, "listener.tls")).toMatchObject({
      status: "warn",
      detail: "The path ends with the certificate itself.",
    });
  });
});
