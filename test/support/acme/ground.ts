/**
 * The ground on which clients that others wrote meet a running pkid: its server, a name server they
 * may change, free ports for their answers, and a folder for what they keep. What else Debian has
 * for ACME are libraries that nobody drives (python3-acme, which is certbot's, ruby-acme-client,
 * python3-txacme and those for Erlang and Go), and pebble, which is a server.
 */

import { expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { type Ran, ran } from "#test/support/child.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { type KnotServer, startKnot } from "#test/support/servers/knot.ts";
import { until } from "#test/support/until.ts";

import { factsOf } from "./csr.ts";
import { AcmeWorld, type AcmeWorldOptions } from "./world.ts";

/** Where a program of Debian's is; undefined where it is not installed. */
export const programAt = (name: string): string | undefined =>
  Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin:/usr/bin` }) ?? undefined;

/** The profile `brief`, of certificates that are to be renewed within seconds. */
export const brief = {
  name: "brief",
  key_usages: ["digitalSignature"],
  ext_key_usages: ["serverAuth"],
  default_validity: "20s",
};

export class Ground {
  private constructor(
    readonly world: AcmeWorld,
    /** Every name in the zone `test` that has no records leads to 127.0.0.1. */
    readonly knot: KnotServer,
    /** What pkid asks where a client answers: http-01, and tls-alpn-01. */
    readonly ports: { readonly http: number; readonly alpn: number },
    /** What clients keep. */
    readonly folder: string,
    /** File with the CA of the server's certificate. */
    readonly trust: string,
    /** Ids of the accounts of other clients. */
    readonly foreign: ReadonlySet<string> = new Set(),
  ) {}

  static async start({ acme, ...others }: AcmeWorldOptions = {}): Promise<Ground> {
    const [knot, http, alpn] = await Promise.all([
      startKnot({ lines: ["* A 127.0.0.1"] }),
      freePort(),
      freePort(),
    ]);
    const own = {
      http01_port: http,
      tls_alpn01_port: alpn,
      dns_resolver: `127.0.0.1:${knot.port}`,
      validation_attempts: 3,
    };
    const world = await AcmeWorld.start({ ...others, acme: { ...own, ...acme } });
    const folder = join(world.instance.home, "clients");
    mkdirSync(folder);
    const trust = join(world.instance.dataDir, "serving-ca.pem");
    return new Ground(world, knot, { http, alpn }, folder, trust);
  }

  /**
   * Returns this ground for one of several clients: with a folder of its own, and without the
   * accounts that exist before it.
   */
  async withClient(name: string): Promise<Ground> {
    const folder = join(this.folder, name);
    mkdirSync(folder);
    const foreign = new Set((await this.accounts()).map(({ id }) => id));
    return new Ground(this.world, this.knot, this.ports, folder, this.trust, foreign);
  }

  /** Runs a program to its end; throws with all it said when it fails. */
  async run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const done = await ran(command, { cwd: this.folder, env: { HOME: this.folder, ...env } });
    if (done.code === 0) return done;
    throw new Error(`${command.join(" ")} ended with ${done.code}:\n${done.stdout}${done.stderr}`);
  }

  /** A web server where pkid asks, which shows what clients put into a folder; gives the folder. */
  serveProofs(): { readonly folder: string; stop(): Promise<void> } {
    const folder = join(this.folder, "proofs");
    mkdirSync(folder);
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: this.ports.http,
      fetch: async ({ url }) => {
        const file = Bun.file(join(folder, new URL(url).pathname.split("/").at(-1) ?? ""));
        return (await file.exists()) ? new Response(file) : new Response("", { status: 404 });
      },
    });
    return { folder, stop: () => server.stop(true) };
  }

  /** A credential for external account binding, made as an operator does. */
  async credential(): Promise<{ readonly kid: string; readonly hmacKey: string }> {
    const made = await this.world.instance.admin<{ id: string; hmac_key: string }>(
      "POST",
      "/api/acme/eab",
      { name: "client", any_identifier: true, allow_wildcards: true },
    );
    return { kid: made.id, hmacKey: made.hmac_key };
  }

  /**
   * Has openssl verify a chain of a file against the root, and the server say the same of its leaf:
   * these names, for an account of ACME, and an event. Gives the serial.
   */
  async expectCertified(file: string, names: readonly string[]): Promise<string> {
    const text = readFileSync(file, "utf8");
    const [leaf = "", ...others] = text.match(certificates) ?? [];
    const facts = factsOf(leaf);
    expect([...facts.names].sort()).toEqual([...names].sort());
    const { chain } = this.world;
    const between = others.join("\n") || readFileSync(chain.intermediate, "utf8");
    const untrusted = saved(this.folder, "untrusted.pem", between);
    const own = saved(this.folder, "leaf.pem", leaf);
    const line = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", chain.root];
    const { text: said } = await openssl([...line, "-untrusted", untrusted, own]);
    expect(said).toContain("leaf.pem: OK");
    expect(await this.#shown(facts.serial)).toMatchObject({ status: "good" });
    const events = await this.world.events("acme.order.finalize");
    expect(events.map(({ serial }) => serial)).toContain(facts.serial);
    return facts.serial;
  }

  /** Has the server say that it is revoked, and that ACME did it. */
  async expectRevoked(serial: string): Promise<void> {
    expect(await this.#shown(serial)).toMatchObject({ status: "revoked" });
    const events = await this.world.events("acme.cert.revoke");
    expect(events.map((event) => event.serial)).toContain(serial);
  }

  /**
   * What a server shows openssl for a name where tls-alpn-01 is asked, once it is of the issuing CA
   * and another one than that with the serial; gives its file.
   */
  async shown(name: string, other = ""): Promise<string> {
    const place = ["-connect", `127.0.0.1:${this.ports.alpn}`, "-servername", name];
    let text = "";
    await until(async () => {
      ({ text } = await openssl(["s_client", "-showcerts", ...place], { mustPass: false }));
      const [leaf] = text.match(certificates) ?? [];
      return leaf !== undefined && text.includes(issuer) && factsOf(leaf).serial !== other;
    });
    return saved(this.folder, `${name}.pem`, text);
  }

  /** Has another client revoke the certificate of a file by its key, as whoever finds both may. */
  async revokeByKey(chain: string, key: string): Promise<void> {
    const places = ["config", "work", "logs"].flatMap((name) => [
      `--${name}-dir`,
      join(this.folder, "finder", name),
    ]);
    const what = ["--cert-path", chain, "--key-path", key, "--reason", "superseded"];
    const how = ["--server", this.world.directoryUrl, "--non-interactive"];
    const line = ["certbot", "revoke", "--no-delete-after-revoke"].concat(what, how, places);
    await this.run(line, { REQUESTS_CA_BUNDLE: this.trust });
  }

  /** Lists the accounts of the client as operators see them, newest first. */
  async accounts(): Promise<readonly Account[]> {
    const path = "/api/acme/accounts";
    const { items } = await this.world.instance.admin<{ items: Account[] }>("GET", path);
    return items.filter(({ id }) => !this.foreign.has(id));
  }

  async #shown(serial: string): Promise<object> {
    const path = `/api/ca/${this.world.chain.intermediateId}/certificates/${serial}`;
    const shown = await this.world.instance.admin<{ requested_by: string }>("GET", path);
    expect(shown.requested_by).toStartWith("acme:");
    return shown;
  }

  async stop(): Promise<void> {
    await Promise.all([this.world.stop(), this.knot.stop()]);
  }
}

/** As openssl says it. */
const issuer = "CN = Issuing ecdsa-p256";

interface Account {
  readonly id: string;
  readonly status: string;
  readonly contacts: readonly string[];
  readonly eab_id?: string;
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
