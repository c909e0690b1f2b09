/** Lego against the binary: proofs by web and DNS, kinds of keys, bindings, foreign requests. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import { Ground, programAt } from "#test/support/acme/ground.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { knotPath } from "#test/support/servers/knot.ts";

const lego = programAt("lego");

describe.skipIf(lego === undefined || knotPath === undefined)("lego", () => {
  let ground: Ground;
  beforeAll(async () => {
    ground = await Ground.start();
  }, 30_000);
  afterAll(() => ground.stop());

  const folder = () => join(ground.folder, "lego");
  const run = (names: readonly string[], proof: readonly string[], ...line: readonly string[]) => {
    const { tsig, port } = ground.knot;
    const asked = names.flatMap((name) => ["--domains", name]);
    const server = ["--server", ground.world.directoryUrl, "--accept-tos", "--path", folder()];
    const account = ["--email", "admin@example.test"];
    const command = [lego ?? "lego"].concat(server, account, asked, proof, line);
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
  const chainOf = (name: string) => join(folder(), "certificates", `${name}.crt`);

  test("issues by http-01, renews, and revokes", async () => {
    const names = ["a.test", "b.test"];
    await run(names, http(), "run");
    const first = await ground.expectCertified(chainOf("a.test"), names);
    await run(names, http(), "renew", "--days", "9999", "--no-random-sleep");
    const second = await ground.expectCertified(chainOf("a.test"), names);
    expect(second).not.toBe(first);
    await run(["a.test"], http(), "revoke", "--reason", "4", "--keep");
    await ground.expectRevoked(second);
    expect(await ground.accounts()).toHaveLength(1);
  }, 60_000);

  test("issues for keys of several kinds", async () => {
    for (const kind of ["rsa2048", "ec384"]) {
      const name = `${kind}.test`;
      await run([name], [...http(), "--key-type", kind], "run");
      await ground.expectCertified(chainOf(name), [name]);
      const { text } = await openssl(["x509", "-in", chainOf(name), "-noout", "-text"]);
      expect(text).toContain(kind === "ec384" ? "(384 bit)" : "(2048 bit)");
    }
  }, 60_000);

  test("issues by tls-alpn-01, though the key it shows may not sign", async () => {
    await run(["tls.test"], ["--tls", "--tls.port", `127.0.0.1:${ground.ports.alpn}`], "run");
    await ground.expectCertified(chainOf("tls.test"), ["tls.test"]);
  }, 60_000);

  test("issues by dns-01 for a wildcard and its name", async () => {
    await run(["*.wild.test", "wild.test"], dns(), "run");
    await ground.expectCertified(chainOf("_.wild.test"), ["*.wild.test", "wild.test"]);
  }, 60_000);

  test("binds its account with a credential", async () => {
    const { kid, hmacKey } = await ground.credential();
    const eab = ["--eab", "--kid", kid, "--hmac", hmacKey, "--email", "bound@example.test"];
    await run(["bound.test"], [...http(), ...eab], "run");
    await ground.expectCertified(chainOf("bound.test"), ["bound.test"]);
    expect((await ground.accounts())[0]).toMatchObject({ eab_id: kid });
  }, 60_000);

  test("issues for a request that another program made", async () => {
    const csr = join(ground.folder, "own.csr");
    const subject = ["-subj", "/C=DE/O=Example/CN=own.test"];
    const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", join(ground.folder, "own.key")];
    await openssl(["req", "-new", "-out", csr].concat(key, subject));
    await run([], [...http(), "--csr", csr], "run");
    await ground.expectCertified(chainOf("own.test"), ["own.test"]);
  }, 60_000);
});
