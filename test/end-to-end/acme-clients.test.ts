/**
 * ACME clients of other projects, run as commands or from a library, against one instance. Each
 * issues, renews, revokes, and uses its own further features.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";

import * as acme from "acme-client";

import { factsOf } from "#test/support/acme/csr.ts";
import { brief, Ground, programAt } from "#test/support/acme/ground.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const directories = {
  brief: { path: "/brief", ca_label: "issuing-ecdsa-p256", profile: "brief" },
};
let shared: Ground | undefined;
beforeAll(async () => {
  if (knotPath === undefined) return;
  shared = await Ground.start({
    acme: { directories, allow_ip_identifiers: true },
    config: { profiles: [brief] },
  });
}, 30_000);
afterAll(() => shared?.stop());

/** Returns the ground for one client: its own folder, and its own accounts only. */
async function startClient(name: string): Promise<Ground> {
  if (shared === undefined) throw new Error("the ground starts before its clients");
  return await shared.withClient(name);
}

const certbot = programAt("certbot");

describe.skipIf(certbot === undefined || knotPath === undefined)("certbot", () => {
  let ground: Ground;
  let dns: readonly string[];
  beforeAll(async () => {
    ground = await startClient("certbot");
    const { tsig, port } = ground.knot;
    const file = saved(
      ground.folder,
      "rfc2136.ini",
      [
        "dns_rfc2136_server = 127.0.0.1",
        `dns_rfc2136_port = ${port}`,
        `dns_rfc2136_name = ${tsig.name}.`,
        `dns_rfc2136_secret = ${tsig.secret}`,
        "dns_rfc2136_algorithm = HMAC-SHA256",
      ].join("\n"),
    );
    const at = ["--dns-rfc2136-credentials", file, "--dns-rfc2136-propagation-seconds", "0"];
    dns = ["--dns-rfc2136"].concat(at);
  }, 30_000);

  /** One command with a folder of its own for each account. */
  const run = (account: string, ...line: readonly string[]) => {
    const folder = join(ground.folder, account);
    const folders = ["config", "work", "logs"].flatMap((name) => [
      `--${name}-dir`,
      join(folder, name),
    ]);
    const server = ["--server", ground.world.directoryUrl, "--non-interactive"];
    const command = [certbot ?? "certbot"].concat(line, server, folders);
    return ground.run(command, { REQUESTS_CA_BUNDLE: ground.trust });
  };
  const agreed = ["--agree-tos", "--no-eff-email", "-m", "admin@example.test"];
  const standalone = () => ["--standalone", "--http-01-port", String(ground.ports.http)];
  const findChain = (account: string, name: string) =>
    join(ground.folder, account, "config", "live", name, "fullchain.pem");

  test("certbot issues by http-01 for several names, renews, revokes, and ends its account", async () => {
    const names = ["a.test", "b.test"];
    const domains = names.flatMap((name) => ["-d", name]);
    await run("web", "certonly", ...standalone(), ...agreed, ...domains);
    const first = await ground.expectCertified(findChain("web", "a.test"), names);
    await run("web", "renew", "--force-renewal", "--no-random-sleep-on-renew");
    const second = await ground.expectCertified(findChain("web", "a.test"), names);
    expect(second).not.toBe(first);
    const which = ["--cert-name", "a.test", "--no-delete-after-revoke"];
    await run("web", "revoke", "--reason", "superseded", ...which);
    await ground.expectRevoked(second);
    await run("web", "unregister");
    expect((await ground.accounts())[0]).toMatchObject({ status: "deactivated" });
  }, 60_000);

  test("certbot issues by dns-01 for a wildcard and its name, and revokes by the certificate's key", async () => {
    const names = ["wild.test", "*.wild.test"];
    const domains = names.flatMap((name) => ["-d", name]);
    await run("dns", "certonly", ...dns, ...agreed, ...domains);
    const chain = findChain("dns", "wild.test");
    const serial = await ground.expectCertified(chain, names);
    const key = chain.replace("fullchain", "privkey");
    const which = ["--cert-path", chain, "--key-path", key, "--no-delete-after-revoke"];
    await run("dns", "revoke", "--reason", "keycompromise", ...which);
    await ground.expectRevoked(serial);
    const shown = await run("dns", "show_account");
    expect(shown.stdout).toContain("admin@example.test");
    await run("dns", "update_account", "--no-eff-email", "-m", "other@example.test");
    expect((await run("dns", "show_account")).stdout).toContain("other@example.test");
  }, 60_000);

  test("certbot issues by dns-01 with hooks of its user's own, renews, and revokes", async () => {
    const names = ["hand.test", "*.hand.test"];
    const [auth, clean] = [
      hook("auth", "zone-set", `1 TXT "$CERTBOT_VALIDATION"`),
      hook("clean", "zone-unset", `TXT "$CERTBOT_VALIDATION"`),
    ];
    const manual = ["--manual", "--preferred-challenges", "dns"];
    const hooks = ["--manual-auth-hook", auth, "--manual-cleanup-hook", clean];
    const domains = names.flatMap((name) => ["-d", name]);
    await run("hand", "certonly", ...manual, ...hooks, ...agreed, ...domains);
    const chain = findChain("hand", "hand.test");
    const first = await ground.expectCertified(chain, names);
    await run("hand", "renew", "--force-renewal", "--no-random-sleep-on-renew");
    const second = await ground.expectCertified(chain, names);
    expect(second).not.toBe(first);
    const which = ["--cert-name", "hand.test", "--no-delete-after-revoke"];
    await run("hand", "revoke", "--reason", "superseded", ...which);
    await ground.expectRevoked(second);
  }, 60_000);

  /** A script that changes the zone with the values that certbot passes. */
  function hook(name: string, verb: string, rdata: string): string {
    const knotc = `knotc -b -s "${ground.knot.control}"`;
    const file = saved(
      ground.folder,
      `${name}.sh`,
      `#!/bin/sh
set -e
PATH=$PATH:/usr/sbin
${knotc} zone-begin test
${knotc} ${verb} test "_acme-challenge.$CERTBOT_DOMAIN." ${rdata}
${knotc} zone-commit test
`,
    );
    chmodSync(file, 0o755);
    return file;
  }

  test("certbot binds its account with a credential that the server records", async () => {
    const { kid, hmacKey } = await ground.credential();
    const eab = ["--eab-kid", kid, "--eab-hmac-key", hmacKey];
    await run("bound", "register", ...agreed, ...eab);
    expect((await ground.accounts())[0]).toMatchObject({ status: "valid", eab_id: kid });
    const again = run("again", "register", ...agreed, ...eab);
    await expect(again).rejects.toThrow("the external account binding does not hold");
  }, 60_000);
});

const dehydrated = programAt("dehydrated");

describe.skipIf(dehydrated === undefined || knotPath === undefined)("dehydrated", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  let config: string;
  beforeAll(async () => {
    ground = await startClient("dehydrated");
    proofs = ground.serveProofs();
    const { kid, hmacKey } = await ground.credential();
    const settings = {
      CA: ground.world.directoryUrl,
      CURL_OPTS: `--cacert ${ground.trust}`,
      BASEDIR: ground.folder,
      WELLKNOWN: proofs.folder,
      CONTACT_EMAIL: "admin@example.test",
      KEY_ALGO: "prime256v1",
      EAB_KID: kid,
      EAB_HMAC_KEY: hmacKey,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"`);
    config = saved(ground.folder, "config", `${lines.join("\n")}\n`);
  }, 30_000);
  afterAll(() => proofs.stop());

  const run = (...line: readonly string[]) =>
    ground.run([dehydrated ?? "dehydrated", "--config", config, ...line]);
  const chain = () => join(ground.folder, "certs", "a.test", "fullchain.pem");
  const names = ["a.test", "b.test"];

  test("dehydrated registers, issues, renews, revokes, and ends its account", async () => {
    await run("--register", "--accept-terms");
    expect((await ground.accounts())[0]).toMatchObject({ status: "valid" });
    await run("--cron", "--domain", names.join(" "), "--challenge", "http-01");
    const first = await ground.expectCertified(chain(), names);
    await run("--cron", "--force", "--domain", names.join(" "), "--challenge", "http-01");
    const second = await ground.expectCertified(chain(), names);
    expect(second).not.toBe(first);
    await run("--revoke", chain().replace("fullchain", "cert"));
    await ground.expectRevoked(second);
    await run("--account");
    await run("--deactivate");
    expect((await ground.accounts())[0]).toMatchObject({ status: "deactivated" });
  }, 60_000);
});

const lego = programAt("lego");

describe.skipIf(lego === undefined || knotPath === undefined)("lego", () => {
  let ground: Ground;
  beforeAll(async () => {
    ground = await startClient("lego");
  }, 30_000);

  const folder = () => join(ground.folder, "lego");
  const run = (names: readonly string[], proof: readonly string[], ...line: readonly string[]) => {
    const { tsig, port } = ground.knot;
    const domains = names.flatMap((name) => ["--domains", name]);
    const server = ["--server", ground.world.directoryUrl, "--accept-tos", "--path", folder()];
    const account = ["--email", "admin@example.test"];
    const command = [lego ?? "lego"].concat(server, account, domains, proof, line);
    return ground.run(command, {
      LEGO_CA_CERTIFICATES: ground.trust,
      RFC2136_NAMESERVER: `127.0.0.1:${port}`,
      RFC2136_TSIG_ALGORITHM: "hmac-sha256.",
      RFC2136_TSIG_KEY: tsig.name,
      RFC2136_TSIG_SECRET: tsig.secret,
      RFC2136_POLLING_INTERVAL: "1",
      RFC2136_SEQUENCE_INTERVAL: "1",
    });
  };
  const http = () => ["--http", "--http.port", `127.0.0.1:${ground.ports.http}`];
  const dns = () => ["--dns", "rfc2136", "--dns.disable-cp"].concat(resolvers());
  const resolvers = () => ["--dns.resolvers", `127.0.0.1:${ground.knot.port}`];
  const findChain = (name: string) => join(folder(), "certificates", `${name}.crt`);

  test("lego issues by http-01, renews, and revokes", async () => {
    const names = ["a.test", "b.test"];
    await run(names, http(), "run");
    const first = await ground.expectCertified(findChain("a.test"), names);
    await run(names, http(), "renew", "--days", "9999", "--no-random-sleep");
    const second = await ground.expectCertified(findChain("a.test"), names);
    expect(second).not.toBe(first);
    await run(["a.test"], http(), "revoke", "--reason", "4", "--keep");
    await ground.expectRevoked(second);
    expect(await ground.accounts()).toHaveLength(1);
  }, 60_000);

  test("lego issues for keys of several kinds", async () => {
    for (const kind of ["rsa2048", "ec384"]) {
      const name = `${kind}.test`;
      await run([name], [...http(), "--key-type", kind], "run");
      await ground.expectCertified(findChain(name), [name]);
      const { text } = await openssl(["x509", "-in", findChain(name), "-noout", "-text"]);
      expect(text).toContain(kind === "ec384" ? "(384 bit)" : "(2048 bit)");
    }
  }, 60_000);

  test("lego issues by tls-alpn-01, though the key it shows may not sign", async () => {
    await run(["tls.test"], ["--tls", "--tls.port", `127.0.0.1:${ground.ports.alpn}`], "run");
    await ground.expectCertified(findChain("tls.test"), ["tls.test"]);
  }, 60_000);

  test("lego issues by dns-01 for a wildcard and its name", async () => {
    await run(["*.wild.test", "wild.test"], dns(), "run");
    await ground.expectCertified(findChain("_.wild.test"), ["*.wild.test", "wild.test"]);
  }, 60_000);

  test("lego binds its account with a credential", async () => {
    const { kid, hmacKey } = await ground.credential();
    const eab = ["--eab", "--kid", kid, "--hmac", hmacKey, "--email", "bound@example.test"];
    await run(["bound.test"], [...http(), ...eab], "run");
    await ground.expectCertified(findChain("bound.test"), ["bound.test"]);
    expect((await ground.accounts())[0]).toMatchObject({ eab_id: kid });
  }, 60_000);

  test("lego gets a certificate for a request of another program", async () => {
    const csr = join(ground.folder, "own.csr");
    const subject = ["-subj", "/C=DE/O=Example/CN=own.test"];
    const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", join(ground.folder, "own.key")];
    await openssl(["req", "-new", "-out", csr].concat(key, subject));
    await run([], [...http(), "--csr", csr], "run");
    await ground.expectCertified(findChain("own.test"), ["own.test"]);
  }, 60_000);
});

/**
 * Acmetool renews automatically. Its version 0.2 records a revocation and sends nothing, so
 * another client revokes by the key of the certificate.
 */
const acmetool = programAt("acmetool");
const hasAcmetool = acmetool !== undefined && certbot !== undefined && knotPath !== undefined;

describe.skipIf(!hasAcmetool)("acmetool", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  let state: string;
  beforeAll(async () => {
    ground = await startClient("acmetool");
    proofs = ground.serveProofs();
    state = join(ground.folder, "state");
    mkdirSync(join(state, "conf"), { recursive: true });
    const challenge = { "webroot-paths": [proofs.folder], "http-self-test": false };
    const request = { provider: `${ground.world.base}/brief/directory`, challenge };
    // YAML reads JSON.
    saved(join(state, "conf"), "target", JSON.stringify({ request }));
    saved(join(state, "conf"), "responses", '"acme-enter-email": "admin@example.test"\n');
  }, 30_000);
  afterAll(() => proofs.stop());

  const run = (...line: readonly string[]) =>
    ground.run([acmetool ?? "acmetool", "--batch", "--state", state, "--hooks", state, ...line], {
      SSL_CERT_FILE: ground.trust,
    });
  const live = (file: string) => join(state, "live", "a.test", file);
  const serial = () => factsOf(readFileSync(live("cert"), "utf8")).serial;

  test("acmetool gets the requested certificates, renews them in time only, and another client revokes them", async () => {
    const names = ["a.test", "b.test"];
    await run("want", ...names);
    const first = await ground.expectCertified(live("fullchain"), names);
    expect(await ground.accounts()).toMatchObject([{ status: "valid" }]);
    await run("reconcile");
    expect(serial()).toBe(first);
    while (serial() === first) {
      await Bun.sleep(500);
      await run("reconcile");
    }
    const second = await ground.expectCertified(live("fullchain"), names);
    await ground.revokeByKey(live("cert"), live("privkey"));
    await ground.expectRevoked(second);
  }, 60_000);
});

const lacme = programAt("lacme");
/** True if the programs that hold the account key and sign with it are installed. */
const hasLacmeParts =
  programAt("lacme-accountd") !== undefined &&
  existsSync("/usr/share/doc/libcrypt-openssl-rsa-perl");

describe.skipIf(lacme === undefined || !hasLacmeParts || knotPath === undefined)("lacme", () => {
  let ground: Ground;
  let config: string;
  beforeAll(async () => {
    ground = await startClient("lacme");
    const { folder, trust, ports, world } = ground;
    const resolve = (name: string) => join(folder, name);
    await openssl(["genrsa", "-out", resolve("account.key"), "2048"]);
    const curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
    await openssl(["genpkey", "-out", resolve("own.key"), ...curve]);
    const account = saved(folder, "accountd.conf", `privkey = file:${resolve("account.key")}\n`);
    const certificates = saved(
      folder,
      "certs.conf",
      `[www]
certificate-key = ${resolve("own.key")}
certificate-chain = ${resolve("chain.pem")}
subject = /CN=a.test
subjectAltName = DNS:a.test,DNS:b.test
CAfile = ${world.chain.root}
`,
    );
    // Its parts may be other users, who know nothing of the folder of a test.
    config = saved(
      folder,
      "lacme.conf",
      `config-certs = ${certificates}
[client]
user =
group =
command = /usr/bin/env PERL_LWP_SSL_CA_FILE=${trust} /usr/libexec/lacme/client
server = ${world.directoryUrl}
[webserver]
user =
group =
listen = 127.0.0.1:${ports.http}
[accountd]
config = ${account}
`,
    );
  }, 30_000);

  const run = (...line: readonly string[]) =>
    ground.run([lacme ?? "lacme", `--config=${config}`, ...line]);
  const chain = () => join(ground.folder, "chain.pem");
  const names = ["a.test", "b.test"];

  test("lacme registers, issues, renews, and revokes", async () => {
    await run("account", "--register", "--tos-agreed", "mailto:admin@example.test");
    expect((await ground.accounts())[0]).toMatchObject({ status: "valid" });
    await run("newOrder");
    const first = await ground.expectCertified(chain(), names);
    // A certificate that is valid for a long time is not renewed.
    await run("newOrder");
    expect(await ground.expectCertified(chain(), names)).toBe(first);
    await run("newOrder", "--force");
    const second = await ground.expectCertified(chain(), names);
    expect(second).not.toBe(first);
    await run("revokeCert", chain());
    await ground.expectRevoked(second);
    await run("account", "mailto:other@example.test");
    expect((await ground.accounts())[0]).toMatchObject({ contacts: ["mailto:other@example.test"] });
  }, 60_000);
});

/** Acme-tiny renews by another run and revokes nothing: another client does, by the key. */
const tiny = programAt("acme-tiny");

describe.skipIf(tiny === undefined || certbot === undefined || knotPath === undefined)(
  "acme-tiny",
  () => {
    let ground: Ground;
    let proofs: ReturnType<Ground["serveProofs"]>;
    beforeAll(async () => {
      ground = await startClient("tiny");
      proofs = ground.serveProofs();
    }, 30_000);
    afterAll(() => proofs.stop());

    const names = ["a.test", "b.test"];
    const resolve = (name: string) => join(ground.folder, name);

    /** Gets a certificate for the request and returns its file. */
    async function issueCertificate(...more: readonly string[]): Promise<string> {
      const files = ["--account-key", resolve("account.key"), "--csr", resolve("own.csr")];
      const folders = ["--acme-dir", proofs.folder, "--directory-url", ground.world.directoryUrl];
      // By default it searches for its own file under the names of the system.
      const line = [tiny ?? "acme-tiny", "--disable-check"].concat(files, folders, more);
      const { stdout } = await ground.run(line, { SSL_CERT_FILE: ground.trust });
      return saved(ground.folder, "chain.pem", stdout);
    }

    test("acme-tiny gets a certificate for a request, and another one for the same, by one account", async () => {
      await openssl(["genrsa", "-out", resolve("account.key"), "2048"]);
      const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", resolve("own.key")];
      const domains = ["-subj", "/CN=a.test", "-addext", "subjectAltName=DNS:a.test,DNS:b.test"];
      await openssl(["req", "-new", "-out", resolve("own.csr")].concat(key, domains));
      const first = await ground.expectCertified(
        await issueCertificate("--contact", "mailto:admin@example.test"),
        names,
      );
      const second = await ground.expectCertified(await issueCertificate(), names);
      expect(second).not.toBe(first);
      expect(await ground.accounts()).toMatchObject([
        { status: "valid", contacts: ["mailto:admin@example.test"] },
      ]);
      await ground.revokeByKey(resolve("chain.pem"), resolve("own.key"));
      await ground.expectRevoked(second);
    }, 60_000);
  },
);

const uacme = programAt("uacme");
/** It trusts the certificates of the system. A file system of the test needs root. */
const alone = process.getuid?.() === 0 && programAt("unshare") !== undefined;

describe.skipIf(uacme === undefined || !alone || knotPath === undefined)("uacme", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  let hook: string;
  beforeAll(async () => {
    ground = await startClient("uacme");
    proofs = ground.serveProofs();
    hook = saved(ground.folder, "hook.sh", buildHook(proofs.folder));
    chmodSync(hook, 0o755);
  }, 30_000);
  afterAll(() => proofs.stop());

  const run = (...line: readonly string[]) => {
    const folders = ["-a", ground.world.directoryUrl, "-c", join(ground.folder, "uacme"), "-y"];
    const trusting = `mount --bind ${ground.trust} /etc/ssl/certs/ca-certificates.crt && exec "$@"`;
    const apart = ["unshare", "--mount", "sh", "-c", trusting, "sh"];
    return ground.run([...apart, uacme ?? "uacme", ...folders, "-h", hook, ...line]);
  };
  const findChain = (name: string) => join(ground.folder, "uacme", name, "cert.pem");
  const key = () => Bun.file(join(ground.folder, "uacme", "private", "key.pem")).text();

  test("uacme creates an account and continues with another key for it", async () => {
    await run("-t", "EC", "new", "admin@example.test");
    const before = await key();
    await run("-t", "RSA", "newkey");
    expect(await key()).not.toBe(before);
    await run("update", "other@example.test");
    await run("issue", "a.test", "b.test");
    await ground.expectCertified(findChain("a.test"), ["a.test", "b.test"]);
    expect(await ground.accounts()).toHaveLength(1);
  }, 60_000);

  test("uacme renews, and revokes by account and by the certificate's key", async () => {
    const first = await ground.expectCertified(findChain("a.test"), ["a.test", "b.test"]);
    await run("-f", "issue", "a.test", "b.test");
    const second = await ground.expectCertified(findChain("a.test"), ["a.test", "b.test"]);
    expect(second).not.toBe(first);
    await run("-r", "4", "revoke", findChain("a.test"));
    await ground.expectRevoked(second);
    await run("-f", "issue", "a.test", "b.test");
    const third = await ground.expectCertified(findChain("a.test"), ["a.test", "b.test"]);
    const keyFile = join(ground.folder, "uacme", "private", "a.test", "key.pem");
    await run("-r", "1", "revoke", findChain("a.test"), keyFile);
    await ground.expectRevoked(third);
    // It uses the same key again, which was revoked as compromised.
    await expect(run("-f", "issue", "a.test", "b.test")).rejects.toThrow("badCSR");
  }, 60_000);

  test("uacme gets a certificate for an address", async () => {
    await run("issue", "127.0.0.1");
    await ground.expectCertified(findChain("127.0.0.1"), ["127.0.0.1"]);
  }, 60_000);

  test("uacme ends its account, which issues nothing more", async () => {
    await run("deactivate");
    expect((await ground.accounts())[0]).toMatchObject({ status: "deactivated" });
    await expect(run("-n", "issue", "c.test")).rejects.toThrow();
  }, 60_000);
});

/** Returns the hook that uacme calls with method, type, identifier, token and authorization. */
const buildHook = (folder: string): string => `#!/bin/sh
[ "$2" = http-01 ] || exit 1
case "$1" in
  begin) printf %s "$5" > "${folder}/$4" ;;
  done | failed) rm -f "${folder}/$4" ;;
esac
`;

describe.skipIf(knotPath === undefined)("acme-client", () => {
  let ground: Ground;
  let proofs: ReturnType<Ground["serveProofs"]>;
  beforeAll(async () => {
    ground = await startClient("node");
    proofs = ground.serveProofs();
    acme.axios.defaults.httpsAgent = new Agent({ ca: readFileSync(ground.trust) });
  }, 30_000);
  afterAll(async () => {
    acme.axios.defaults.httpsAgent = undefined;
    await proofs.stop();
  });

  const newClient = (accountKey: Buffer, more: object = {}) =>
    new acme.Client({ directoryUrl: ground.world.directoryUrl, accountKey, ...more });

  /** Puts proofs into the folder, or into the DNS. */
  const challenges = {
    challengeCreateFn: async (
      { identifier }: acme.Authorization,
      { type, token }: { type: string; token: string },
      text: string,
    ) => {
      if (type === "http-01") saved(proofs.folder, token, text);
      else await ground.knot.set(`_acme-challenge.${identifier.value}`, "TXT", `"${text}"`);
    },
    challengeRemoveFn: async () => {},
    skipChallengeVerification: true,
  };

  test("acme-client issues for keys of both kinds, renews, revokes, and ends its account", async () => {
    for (const [accountKey, csrKey] of [
      [await acme.crypto.createPrivateEcdsaKey("P-384"), await acme.crypto.createPrivateKey()],
      [await acme.crypto.createPrivateKey(), await acme.crypto.createPrivateEcdsaKey()],
    ] as const) {
      const client = newClient(accountKey);
      const serials: string[] = [];
      for (let time = 0; time < 2; time++) {
        const [, csr] = await acme.crypto.createCsr({ altNames: ["a.test", "b.test"] }, csrKey);
        const pem = await client.auto({ csr, termsOfServiceAgreed: true, ...challenges });
        const file = saved(ground.folder, "node.pem", pem);
        serials.push(await ground.expectCertified(file, ["a.test", "b.test"]));
        if (time === 0) continue;
        await client.revokeCertificate(pem, { reason: 4 });
        await ground.expectRevoked(serials.at(-1) ?? "");
      }
      expect(new Set(serials).size).toBe(2);
      const ended = await client.updateAccount({ status: "deactivated" });
      expect(ended.status).toBe("deactivated");
    }
  }, 60_000);

  test("acme-client issues for a wildcard by dns-01, and continues with another account key", async () => {
    const client = newClient(await acme.crypto.createPrivateEcdsaKey());
    await client.createAccount({ termsOfServiceAgreed: true, contact: ["mailto:a@example.test"] });
    await client.updateAccountKey(await acme.crypto.createPrivateEcdsaKey("P-521"));
    const names = ["*.wild.test", "wild.test"];
    for (const name of names) {
      const [, csr] = await acme.crypto.createCsr({ altNames: [name] });
      const challengePriority = ["dns-01"];
      const pem = await client.auto({ csr, challengePriority, ...challenges });
      await ground.expectCertified(saved(ground.folder, "wild.pem", pem), [name]);
    }
    expect(await ground.accounts()).toHaveLength(3);
  }, 60_000);

  test("acme-client binds its account with a credential", async () => {
    const { kid, hmacKey } = await ground.credential();
    const externalAccountBinding = { kid, hmacKey };
    const accountKey = await acme.crypto.createPrivateEcdsaKey();
    const client = newClient(accountKey, { externalAccountBinding });
    await client.createAccount({ termsOfServiceAgreed: true });
    expect((await ground.accounts())[0]).toMatchObject({ eab_id: kid, status: "valid" });
  }, 60_000);
});
