/**
 * Metrics: the names and labels that are promised, from the start, with closed label values only.
 */

import { describe, expect, test } from "bun:test";

import { measureProbes, probeCounter } from "#adapters/telemetry/canary.ts";
import { Metrics } from "#adapters/telemetry/families.ts";
import { metricTable } from "#adapters/telemetry/metrics.ts";
import { eventCounters } from "#adapters/telemetry/projections.ts";
import { ocspCounter, requestCounters } from "#adapters/telemetry/request-counters.ts";
import { observeComponents, observeResources } from "#adapters/telemetry/resources.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { canaryWorld } from "#test/support/worlds/canary-world.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";

/** Lines of the exposition that are no comment. */
async function lines(metrics: Metrics): Promise<readonly string[]> {
  const { text } = await metrics.exposition();
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("the exposition", () => {
  test("has every metric of the table with help and type, all named pki_", async () => {
    const { type, text } = await new Metrics().exposition();
    expect(type).toStartWith("text/plain; version=0.0.4");
    for (const [name, row] of Object.entries(metricTable)) {
      expect(name).toStartWith("pki_");
      expect(text).toContain(`# HELP ${name} ${row.help}\n# TYPE ${name} ${row.type}\n`);
    }
  });

  test("series of closed label sets exist from the start with 0", async () => {
    const start = await lines(new Metrics());
    for (const line of [
      'pki_certificates_total{operation="renew",result="denied"} 0',
      'pki_ocsp_requests_total{result="malformed"} 0',
      'pki_authz_decisions_total{action="ca:manage",decision="deny"} 0',
      'pki_hsm_operation_duration_seconds_bucket{operation="sign",le="+Inf"} 0',
      "pki_auth_tokens_active 0",
      'pki_acme_orders_total{step="new"} 0',
      'pki_acme_orders_total{step="valid"} 0',
      'pki_acme_validations_total{type="http-01",result="success"} 0',
      'pki_acme_validations_total{type="dns-persist-01",result="error"} 0',
      'pki_acme_validations_total{type="tls-alpn-01",result="denied"} 0',
      "pki_acme_replacements_outstanding 0",
    ]) {
      expect(start).toContain(line);
    }
  });

  test("a result is success, error or denied, but for what has words of its own", () => {
    const others: Readonly<Record<string, readonly string[]>> = {
      pki_ocsp_requests_total: ["malformed"],
      pki_auth_token_verifications_total: ["expired", "revoked", "unknown"],
    };
    for (const [name, { labels }] of Object.entries(metricTable)) {
      const { result = [] } = labels as Readonly<Record<string, readonly string[]>>; // Closed.
      const words = ["success", "error", "denied", ...(others[name] ?? [])];
      expect(words, name).toEqual(expect.arrayContaining([...result]));
    }
  });

  test("histogram buckets are cumulative and hold their bound", async () => {
    const metrics = new Metrics();
    for (const seconds of [0.001, 0.002, 100]) {
      metrics.observe("pki_hsm_operation_duration_seconds", { operation: "sign" }, seconds);
    }
    const name = "pki_hsm_operation_duration_seconds";
    const now = await lines(metrics);
    expect(now).toContain(`${name}_bucket{operation="sign",le="0.0005"} 0`);
    expect(now).toContain(`${name}_bucket{operation="sign",le="0.001"} 1`);
    expect(now).toContain(`${name}_bucket{operation="sign",le="5"} 2`);
    expect(now).toContain(`${name}_bucket{operation="sign",le="+Inf"} 3`);
    expect(now).toContain(`${name}_count{operation="sign"} 3`);
  });

  test("a collector that fails leaves the scrape whole", async () => {
    const metrics = new Metrics();
    metrics.beforeScrape(() => Promise.reject(new Error("no database")));
    expect(await lines(metrics)).toContain("pki_auth_tokens_active 0");
  });
});

describe("requests", () => {
  test("are counted by route pattern and status, CRLs also by result", async () => {
    const metrics = new Metrics();
    const counters = requestCounters(metrics);
    counters.began();
    counters.began();
    counters.ended("GET", "/api/ca/{id}/crl", 304, 0.002);
    const crl = 'method="GET",route="/api/ca/{id}/crl"';
    const now = await lines(metrics);
    expect(now).toContain(`pki_http_requests_total{${crl},status="304"} 1`);
    expect(now).toContain(`pki_http_request_duration_seconds_count{${crl}} 1`);
    expect(now).toContain('pki_crl_requests_total{result="success"} 1');
    expect(now).toContain("pki_http_requests_in_flight 1");
    const revoke = 'method="POST",route="/api/ca/{id}/revoke"';
    expect(now).toContain(`pki_http_request_duration_seconds_count{${revoke}} 0`);
  });
});

test("OCSP answers count by what their status word means to the asker", async () => {
  const metrics = new Metrics();
  const count = ocspCounter(metrics);
  for (const word of ["successful", "malformedRequest", "unauthorized", "tryLater"]) count(word);
  const now = await lines(metrics);
  expect(now).toContain('pki_ocsp_requests_total{result="success"} 1');
  expect(now).toContain('pki_ocsp_requests_total{result="malformed"} 1');
  expect(now).toContain('pki_ocsp_requests_total{result="error"} 2');
});

describe("projections of events", () => {
  const event = (action: string, result: string, detail = ""): AuditEvent => ({
    seq: 1,
    id: "",
    timestamp: "",
    actor: "",
    actorName: "",
    actorRoles: "",
    action,
    result,
    tenant: "",
    caId: "",
    serial: "",
    target: "",
    targetName: "",
    detail,
    ip: "",
    requestId: "",
    prevHash: "",
    hash: "",
  });

  test("orders of ACME count when they are made, and when they come to a certificate", async () => {
    const metrics = new Metrics();
    eventCounters(metrics)([
      event("acme.order.new", "success"),
      event("acme.order.new", "success"),
      event("acme.order.finalize", "success"),
      event("acme.order.finalize", "denied"),
      event("acme.authz.deactivate", "success"),
    ]);
    const now = await lines(metrics);
    expect(now).toContain('pki_acme_orders_total{step="new"} 2');
    expect(now).toContain('pki_acme_orders_total{step="valid"} 1');
  });

  test("issue, renew and revoke count, suspend and release do not", async () => {
    const metrics = new Metrics();
    eventCounters(metrics)([
      event("cert.issue", "success", "profile=server"),
      event("cert.renew", "success", "renewed_from=7 profile=server"),
      event("cert.issue", "denied", "profile=server renewed_from=7"),
      event("cert.issue", "denied", "profile=x_renewed_from=7"),
      event("cert.revoke", "error"),
      event("cert.suspend", "success"),
      event("cert.release", "success"),
      event("token.create", "success"),
    ]);
    const counted = (await lines(metrics)).filter((line) => line.endsWith(" 1"));
    expect(counted.sort()).toEqual([
      'pki_auth_token_operations_total{operation="create",result="success"} 1',
      'pki_certificates_total{operation="issue",result="denied"} 1',
      'pki_certificates_total{operation="issue",result="success"} 1',
      'pki_certificates_total{operation="renew",result="denied"} 1',
      'pki_certificates_total{operation="renew",result="success"} 1',
      'pki_certificates_total{operation="revoke",result="error"} 1',
    ]);
  });

  test("backups and drills are measured when they come to an end, and those that fail are counted", async () => {
    const metrics = new Metrics();
    eventCounters(metrics)([
      event("backup.run", "success", "artifact=a seq=7 sha256=00 recipients=r duration=70.25"),
      event("backup.run", "error", "artifact=b reason=abandoned"),
      event("backup.verify", "success", "artifact=a duration=4"),
      event("backup.verify", "success", "artifact=b"),
    ]);
    const now = await lines(metrics);
    expect(now).toContain('pki_backups_total{result="error"} 1');
    expect(now).toContain('pki_backup_duration_seconds_bucket{le="60"} 0');
    expect(now).toContain('pki_backup_duration_seconds_bucket{le="300"} 1');
    expect(now).toContain("pki_backup_duration_seconds_sum 70.25");
    expect(now).toContain('pki_backup_drills_total{result="success"} 2');
    expect(now).toContain("pki_backup_drill_duration_seconds_count 1");
  });

  test("a bulk revocation is counted by its summary, and a refused one is none", async () => {
    const metrics = new Metrics();
    const detail =
      'op=planned=9 filter="a revoked=8 b" planned=3 revoked=2 upgraded=1 duration=4.5';
    eventCounters(metrics)([
      event("cert.revoke_bulk", "success", detail),
      event("cert.revoke_bulk", "denied", "op=x reason=superseded confirm_count=1 actual_count=2"),
    ]);
    const now = await lines(metrics);
    expect(now).toContain("pki_revocations_bulk_total 1");
    expect(now).toContain("pki_revocations_bulk_certificates_total 2");
    expect(now).toContain('pki_revocations_bulk_duration_seconds_bucket{le="2.5"} 0');
    expect(now).toContain('pki_revocations_bulk_duration_seconds_bucket{le="5"} 1');
  });
});

describe("this process", () => {
  test("processor, memory, heap and descriptors are read at every scrape", async () => {
    const metrics = new Metrics();
    const stop = observeResources(metrics);
    observeComponents(metrics, async () => ({
      database: { status: "up" },
      hsm: { status: "down" },
    }));
    const now = await lines(metrics);
    stop();
    for (const name of ["cpu_seconds_total", "resident_memory_bytes", "heap_bytes", "open_fds"]) {
      const value = now.find((line) => line.startsWith(`pki_process_${name} `))?.split(" ")[1];
      expect([name, Number(value) > 0]).toEqual([name, true]);
    }
    expect(now).toContain('pki_component_up{component="database"} 1');
    expect(now).toContain('pki_component_up{component="hsm"} 0');
  });
});

test("probes of CAs are counted, their stages timed, and the success that is the longest ago is told", async () => {
  const { canary, store, probes, clock, keys, issuing } = await canaryWorld();
  const metrics = new Metrics();
  await canary.run(rootOrigin);
  const succeeded = clock.now() / 1000;
  keys.held.delete(issuing.key.id);
  await canary.run(rootOrigin);
  for (const report of probes) probeCounter(metrics)(report);
  await measureProbes(metrics, store, { enabled: true, cas: ["issuing"] });
  const now = await lines(metrics);
  expect(now).toContain('pki_canary_probes_total{result="success"} 1');
  expect(now).toContain('pki_canary_probes_total{result="error"} 1');
  expect(now).toContain('pki_canary_stage_duration_seconds_count{stage="issue"} 2');
  expect(now).toContain('pki_canary_stage_duration_seconds_count{stage="delta"} 1');
  expect(now).toContain(`pki_canary_last_success_timestamp_seconds ${succeeded}`);
  expect(now).toContain("pki_canary_failing_cas 1");
  await measureProbes(metrics, store, { enabled: false, cas: ["issuing"] });
  expect(await lines(metrics)).toContain("pki_canary_failing_cas 0");
});
