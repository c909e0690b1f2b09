/**
 * A real name server of the test's own, Knot DNS on loopback: its records can be changed while it
 * runs, by the test and by whoever has its TSIG key (RFC 2136, 8945).
 */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { DnsResolver } from "#adapters/network/dns.ts";
import { systemRandom } from "#adapters/system.ts";
import { ran } from "#test/support/child.ts";
import { until } from "#test/support/until.ts";

import { freePort } from "./free-port.ts";

export const knotPath = ["/usr/sbin/knotd", "/usr/local/sbin/knotd"].find(existsSync);

/** A running server; names are written without final dot and lie in one of its zones. */
export interface KnotServer {
  readonly address: string;
  /** Of UDP and TCP. */
  readonly port: number;
  /** Where `knotc` reaches it. */
  readonly control: string;
  /** What may update every zone. */
  readonly tsig: {
    readonly name: string;
    readonly algorithm: "hmac-sha256";
    readonly secret: string;
  };
  /**
   * Replaces the records of a type at a name; rdata as in a zone file, such as `"text"` for TXT and
   * `0 issue "ca.example"` for CAA. Returns when the server answers with them.
   */
  set(name: string, type: string, ...rdata: readonly string[]): Promise<void>;
  /** Removes them; nothing happens where there are none. */
  remove(name: string, type: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it with zones that hold nothing but their SOA; `lines` of a zone file go into each. */
export async function startKnot({
  zones = ["test"],
  lines = [],
  address = "127.0.0.1",
}: {
  zones?: readonly string[];
  lines?: readonly string[];
  address?: string;
} = {}): Promise<KnotServer> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-knot-"));
  const port = await freePort();
  const secret = Buffer.from(systemRandom.bytes(32)).toString("base64");
  const conf = join(folder, "knot.conf");
  writeFileSync(conf, knotConf({ folder, address, port, secret, zones }));
  for (const zone of zones) writeFileSync(join(folder, `${zone}.zone`), zoneFile(zone, lines));
  const server = Bun.spawn([knotPath ?? "knotd", "-c", conf], {
    stdio: ["ignore", "ignore", Bun.file(join(folder, "knotd.log"))],
  });
  const onExit = () => server.kill("SIGKILL");
  process.on("exit", onExit);
  await answering({ address, port }, zones, () => {
    if (server.exitCode === null) return;
    throw new Error(`knotd ended: ${readFileSync(join(folder, "knotd.log"), "utf8")}`);
  });
  const changes = new Changes(join(folder, "knot.sock"), zones);
  return {
    address,
    port,
    control: join(folder, "knot.sock"),
    tsig: { name: keyName, algorithm: "hmac-sha256", secret },
    set: (name, type, ...rdata) => changes.replace(name, type, rdata),
    remove: (name, type) => changes.replace(name, type, []),
    stop: async () => {
      process.off("exit", onExit);
      server.kill("SIGTERM");
      await server.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Changes by the control socket, one after another: a zone has one transaction at a time. */
class Changes {
  readonly #socket: string;
  readonly #zones: readonly string[];
  #last: Promise<void> = Promise.resolve();

  constructor(socket: string, zones: readonly string[]) {
    this.#socket = socket;
    this.#zones = zones;
  }

  replace(name: string, type: string, rdata: readonly string[]): Promise<void> {
    const next = this.#last.then(() => this.#replace(name, type, rdata));
    // Whoever asked hears of a failure; the next change is another matter.
    this.#last = next.catch(() => {});
    return next;
  }

  async #replace(name: string, type: string, rdata: readonly string[]): Promise<void> {
    const zone = this.#zones.find((one) => name === one || name.endsWith(`.${one}`));
    if (zone === undefined) throw new Error(`${name} is in no zone of this server`);
    await this.#control("zone-begin", zone);
    // Fails when there is nothing, which is what is wanted.
    await this.#control("zone-unset", zone, `${name}.`, type).catch(() => {});
    for (const one of rdata) await this.#control("zone-set", zone, `${name}.`, "1", type, one);
    await this.#control("zone-commit", zone);
  }

  async #control(...command: readonly string[]): Promise<void> {
    const done = await ran(["knotc", "-b", "-s", this.#socket, ...command], {
      env: { PATH: `${process.env.PATH}:/usr/sbin` },
    });
    if (done.code !== 0)
      throw new Error(`knotc ${command.join(" ")}: ${done.stderr}${done.stdout}`);
  }
}

async function answering(
  place: { readonly address: string; readonly port: number },
  zones: readonly string[],
  stillThere: () => void,
): Promise<void> {
  const resolver = new DnsResolver({ random: systemRandom, servers: () => [place] });
  for (const zone of zones) {
    await until(async () => {
      stillThere();
      return (await resolver.lookup(zone, "SOA", 1)).answered;
    });
  }
}

interface Conf {
  readonly folder: string;
  readonly address: string;
  readonly port: number;
  readonly secret: string;
  readonly zones: readonly string[];
}

const knotConf = ({ folder, address, port, secret, zones }: Conf): string => `
server:
    rundir: "${folder}"
    listen: "${address}@${port}"
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
control:
    listen: "${folder}/knot.sock"
database:
    storage: "${folder}"
    journal-db-max-size: 16M
    kasp-db-max-size: 16M
    timer-db-max-size: 1M
log:
  - target: stderr
    any: warning
key:
  - id: ${keyName}.
    algorithm: hmac-sha256
    secret: ${secret}
acl:
  - id: updates
    key: ${keyName}.
    action: [update, transfer]
template:
  - id: default
    storage: "${folder}"
    file: "%s.zone"
    acl: updates
    zonefile-sync: -1
    journal-content: changes
zone:
${zones.map((zone) => `  - domain: ${zone}.`).join("\n")}
`;

const zoneFile = (zone: string, lines: readonly string[]): string =>
  [
    `$ORIGIN ${zone}.`,
    "$TTL 1",
    "@ SOA ns hostmaster 1 3600 600 86400 1",
    "@ NS ns",
    "ns A 127.0.0.1",
    ...lines,
    "",
  ].join("\n");

const keyName = "tests";
