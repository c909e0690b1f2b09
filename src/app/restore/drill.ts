/**
 * `pkid backup verify`: an archive becomes a throw-away instance, which must do what a CA does
 * (BAK-3).
 */

import { hasToken } from "#adapters/keys/open.ts";
import { osUser } from "#adapters/system.ts";
import type { App } from "#app/composed.ts";
import { Client } from "#cli/client.ts";
import type { ArchiveSource, DrillReport } from "#cli/command.ts";
import { checkStatus } from "#cli/commands/ocsp.ts";
import { Failure } from "#cli/failure.ts";
import { newKey, requestFor } from "#cli/new-request.ts";
import { processReach } from "#cli/reach.ts";
import { rowsAt, textAt } from "#cli/rows.ts";
import type { Config } from "#config/schema.ts";
import { parseSerial } from "#core/ids.ts";
import { isObject } from "#core/shape.ts";
import { openCrl } from "#core/x509/crl.ts";
import { mustBeProven } from "./prove-archive.ts";
import { mustOpenByDataKeys } from "./prove-data-keys.ts";
import { type RestoreWays, Scratch } from "./scratch.ts";
import { scratchPlace } from "./scratch-place.ts";

/**
 * Unpacks the archive beside the instance of `config`, or in the system's directory for temporary
 * files where there is none; proves its records, data keys and keys; issues, revokes and answers
 * there under a root of its own, so that no key of a CA certifies anything the instance does not
 * know. Everything is removed again. Throws `ArchiveUnfit` and `Failure`.
 */
export async function drill(
  config: Config,
  source: ArchiveSource,
  { log, workerUrl }: RestoreWays,
): Promise<DrillReport> {
  const scratch = new Scratch(scratchPlace(config.data_dir), workerUrl);
  try {
    const read = await scratch.unpack(source);
    const proofs = await mustBeProven(scratch);
    const data_keys = await mustOpenByDataKeys(scratch);
    scratch.addMasterKey(config);
    const app = await scratch.open(alone(config), log, { drill: true });
    try {
      const { keys, lists } = await restored(app, hasToken(config));
      const answered = await rehearsed(app);
      const { manifest, digests } = read;
      return {
        instance_id: manifest.instance_id,
        created_at: manifest.created_at,
        audit_seq: manifest.audit.seq,
        ledger_number: manifest.ledger.number,
        rows: digests.members.reduce((sum, member) => sum + (member.rows ?? 0), 0),
        ledger_key: read.signedBy,
        proofs,
        data_keys,
        keys,
        lists,
        ...answered,
      };
    } finally {
      await app.close();
    }
  } finally {
    scratch.remove();
  }
}

/**
 * Nothing of it reaches anybody: new keys are made in files, profiles are the built-in ones, which
 * ask neither logs nor name servers and admit any name, and nobody has to approve. Keys on a token
 * only sign.
 */
const alone = (config: Config): Config => ({
  ...config,
  profiles: [],
  certificate_transparency: { ...config.certificate_transparency, logs: [] },
  acme: { ...config.acme, enabled: false },
  canary: { ...config.canary, enabled: false },
  publish: { ...config.publish, enabled: false },
  approvals: { ...config.approvals, enabled: false },
  key_provider: {
    ...config.key_provider,
    roles: { ...config.key_provider.roles, ca: "software", responder: "software" },
  },
});

const clientOf = (app: App): Client =>
  new Client(() =>
    processReach(
      async () => ({ fetch: (request) => app.fetch(request), close: async () => {} }),
      osUser(),
    ),
  );

/**
 * Keys of CAs sign, and the lists that were published are served; without a token, only those of
 * CAs with software keys.
 */
async function restored(
  app: App,
  withToken: boolean,
): Promise<Pick<DrillReport, "keys" | "lists">> {
  const client = clientOf(app);
  const { checks } = await client.ask("preflight.run", { only: ["keys.ca"], network: false });
  const check = Array.isArray(checks) ? checks.find(isObject) : undefined;
  if (check?.status === "fail") {
    throw new Failure(`Keys of CAs are missing: ${String(check.detail)}`, "key_unavailable");
  }
  const cas = rowsAt(await client.list("ca.list", { limit: 500 }, true), "items");
  let lists = 0;
  const isTried = (one: (typeof cas)[number]) => withToken || textAt(one, "provider") !== "pkcs11";
  for (const row of cas.filter((one) => textAt(one, "status") === "active" && isTried(one))) {
    openCrl(await client.fetch("crl.read", { id: textAt(row, "id") }));
    lists += 1;
  }
  return { keys: String(check?.detail ?? ""), lists };
}

/**
 * Root, CA, certificate, revocation and answers, as a newcomer would have them: of a tenant of
 * their own, since that of the instance may be suspended, or have used up its quotas.
 */
async function rehearsed(app: App): Promise<Pick<DrillReport, "issued" | "revoked">> {
  const client = clientOf(app);
  const word = `drill-${crypto.randomUUID().slice(0, 8)}`;
  const kind = { key_type: "ecdsa-p256" };
  const tenant = await client.ask("tenant.create", { slug: word });
  const root = await client.ask("ca.init_root", {
    label: `${word}-root`,
    tenant_id: textAt(tenant, "id"),
    subject: { cn: word },
    ...kind,
  });
  const ca = await client.ask("ca.issue_intermediate", {
    id: textAt(root, "id"),
    label: word,
    subject: { cn: `${word} CA` },
    ...kind,
  });
  const id = textAt(ca, "id");
  const csr = requestFor(newKey("ecdsa-p256"), [`${word}.invalid`]);
  const issued = textAt(await client.ask("cert.issue", { id, csr }), "serial");
  const serial = parseSerial(issued);
  await mustSay(client, { id, serial }, "good");
  await client.ask("cert.revoke", { id, serial: issued, reason: "superseded" });
  await mustSay(client, { id, serial }, "revoked");
  await client.ask("crl.publish", { id });
  const crl = openCrl(await client.fetch("crl.read", { id }));
  if (![...crl.entries()].some((entry) => entry.serial === serial)) {
    throw new Failure("The list of the drill lacks what was revoked in it.", "drill_failed");
  }
  return { issued, revoked: true };
}

async function mustSay(
  client: Client,
  about: { readonly id: string; readonly serial: ReturnType<typeof parseSerial> },
  status: string,
): Promise<void> {
  const verdict = await checkStatus({ client }, { ...about, nonce: false });
  if (verdict.trusted && verdict.status === status) return;
  const why = verdict.fault ?? `it says ${verdict.status}`;
  throw new Failure(`The answer about the drill's certificate is wrong: ${why}.`, "drill_failed");
}
