/** An instance on which every page of the console has something to show. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { freePort } from "#test/support/servers/free-port.ts";
import { ConsoleWorld } from "./console-world.ts";
import { newHome } from "./instance.ts";
import { makeCas } from "./issue-page.ts";
import { newCsr } from "./relying-party.ts";
import { shareSecondPerson } from "./second-person.ts";

/** The world, and where pages lead that show one thing. */
export interface Shown {
  readonly world: ConsoleWorld;
  /** The issuing CA. */
  readonly ca: string;
  /** A good certificate of it. */
  readonly serial: string;
  /** A request that waits for approval. */
  readonly approval: string;
}

/** Starts the binary, and does there what people do in their first weeks. */
export async function shownWorld(): Promise<Shown> {
  const port = await freePort();
  const config = {
    server: {
      port,
      public_url: `https://localhost:${port}`,
      public_http: { enabled: true, address: "127.0.0.1:0" },
    },
    acme: { enabled: true, ca_label: "example-issuing", require_eab: true },
    auth: shareSecondPerson().auth,
    approvals: { enabled: true, thresholds: { "cert.issue": 1, "ca.retire": 1 } },
    profiles: [
      {
        name: "payments",
        description: "Servers of the payment network, which a second person vouches for.",
        ext_key_usages: ["serverAuth"],
        require_approval: true,
      },
    ],
  };
  // Preflight warns of the password that all tests have.
  const world = await ConsoleWorld.start(config, newHome(), {}, "7 otters beside 4 kettles");
  try {
    const ca = await makeCas(world);
    await makePeople(world);
    const serials = await issueAll(world, ca);
    await endSome(world, ca, serials);
    const approval = await askForApproval(world, ca);
    return { world, ca, serial: String(serials.get("www.example.com")), approval };
  } catch (error) {
    await world.stop();
    throw error;
  }
}

async function makePeople({ instance }: ConsoleWorld): Promise<void> {
  for (const [slug, name] of [
    ["shop", "Shop"],
    ["devices", "Devices"],
  ]) {
    await instance.admin("POST", "/api/tenants", { slug, name });
  }
  for (const [name, role] of [
    ["deploy bot", "issuer"],
    ["monitoring", "auditor"],
    ["inventory export", "auditor"],
  ]) {
    await instance.admin("POST", "/api/tokens", { name, roles: [role], expires_in_days: 90 });
  }
  await instance.admin("POST", "/api/acme/eab", {
    name: "web farm",
    dns_suffixes: ["example.com"],
    max_uses: 0,
  });
}

/** Gives the serials by name. */
async function issueAll(
  { instance }: ConsoleWorld,
  ca: string,
): Promise<ReadonlyMap<string, string>> {
  const serials = new Map<string, string>();
  for (const [name, profile, days] of leaves) {
    const csr = await newCsr(folderOf(instance.home), name);
    const path = `/api/ca/${ca}/issue`;
    const request = { csr, profile, validity_days: days };
    const { serial } = await instance.admin<{ serial: string }>("POST", path, request);
    serials.set(name, serial);
  }
  return serials;
}

async function endSome(
  { instance }: ConsoleWorld,
  ca: string,
  serials: ReadonlyMap<string, string>,
): Promise<void> {
  const revoke = (name: string, reason: string) =>
    instance.admin("POST", `/api/ca/${ca}/revoke`, { serial: serials.get(name), reason });
  await revoke("old.example.com", "superseded");
  await revoke("stolen-laptop.example.com", "keyCompromise");
  const suspended = serials.get("build-2.example.com");
  await instance.admin("POST", `/api/ca/${ca}/certificates/${suspended}:suspend`, {});
  await instance.admin("POST", `/api/ca/${ca}/crl:publish`, {});
}

/** Requests it as the second person, so that root may approve it. */
async function askForApproval({ instance }: ConsoleWorld, ca: string): Promise<string> {
  const path = `/api/ca/${ca}/issue`;
  let approval = "";
  for (const name of ["ledger.pay.example.com", "gateway.pay.example.com"]) {
    const csr = await newCsr(folderOf(instance.home), name);
    const request = { csr, profile: "payments" };
    const { body } = await shareSecondPerson().send(instance, "POST", path, request);
    approval = body.approval.id;
  }
  return approval;
}

function folderOf(home: string): string {
  const folder = join(home, "requests");
  mkdirSync(folder, { recursive: true });
  return folder;
}

const leaves = [
  ["old.example.com", "server", 90],
  ["api.example.com", "server", 90],
  ["api-2.example.com", "server", 90],
  ["mail.example.com", "server", 20],
  ["vpn.example.com", "server", 6],
  ["intranet.example.com", "server", 90],
  ["stolen-laptop.example.com", "client", 365],
  ["alice-laptop.example.com", "client", 365],
  ["bob-laptop.example.com", "client", 365],
  ["build-1.example.com", "client", 30],
  ["build-2.example.com", "client", 30],
  ["build-3.example.com", "client", 30],
  ["registry.example.com", "server", 90],
  ["a-name-as-long-as-those-of-clusters.eu-central-1.aws.example.com", "server", 90],
  ["shop.example.com", "server", 90],
  ["www.example.com", "server", 90],
] as const;
