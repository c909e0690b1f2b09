/**
 * `pkid metrics`: the dashboard and the alerts ask for nothing that is not measured, and are read
 * by the programs they are for.
 */

import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";

import { alertRules } from "#adapters/telemetry/alerts.ts";
import { type MetricName, metricOf, metricTable } from "#adapters/telemetry/metrics.ts";
import { panelRows } from "#adapters/telemetry/panels.ts";
import { checkNames } from "#core/preflight/checks.ts";
import { operations, routesOf } from "#operations";
import { expectGolden } from "#test/support/golden.ts";
import { shell } from "#test/support/instances/shell.ts";

const rules = alertRules({ job: "pkid", backupIntervalSeconds: 86_400 }).groups.flatMap(
  (group) => group.rules,
);
const panels = panelRows.flatMap((row) => row.panels);
const curves = panels.flatMap((panel) => panel.curves);
const folder = mkdtempSync(join(tmpdir(), "pkid-metrics-"));
const at = (name: string) => join(folder, name);

describe("what is asked of Prometheus", () => {
  test("is measured, with these labels and values", () => {
    const expressions = [...curves, ...rules].map(({ expr }) => expr);
    expect(expressions.flatMap(strangersIn)).toEqual([]);
    for (const [wrong, stranger] of [
      ["rate(pki_nothing_total[5m])", "pki_nothing_total"],
      ["pki_component_up_bucket", "pki_component_up_bucket"],
      ['pki_component_up{part="hsm"}', "part"],
      ['pki_component_up{component="disk"}', "disk"],
      ['pki_certificates_total{result=~"error|fail.*x"}', "error|fail.*x"],
      ['pki_http_requests_total{route=~"/nowhere.*"}', "/nowhere.*"],
      ["sum by (colour) (pki_component_up)", "colour"],
    ] as const) {
      expect(strangersIn(wrong)).toEqual([stranger]);
    }
  });

  test("shows every metric of the table", () => {
    const shown = curves.map(({ expr }) => expr).join("\n");
    const isShown = (name: string) => new RegExp(`\\b${name}(_bucket)?\\b`).test(shown);
    expect(Object.keys(metricTable).filter((name) => !isShown(name))).toEqual([]);
  });
});

describe("pkid metrics dashboard", () => {
  test("is a document whose panels lie beside and below each other, each with its sentence", async () => {
    const { code, stdout, asked } = await shell(["metrics", "dashboard"]);
    expect([code, asked]).toEqual([0, []]);
    const made = JSON.parse(stdout);
    expect(JSON.parse((await shell(["metrics", "dashboard", "--json"])).stdout)).toEqual(made);
    const taken = new Set<string>();
    for (const { id, type, title, description, gridPos } of made.panels) {
      expect([title, taken.has(`${id}`)]).toEqual([title, false]);
      taken.add(`${id}`);
      if (type !== "row")
        expect([title, description]).toEqual([title, expect.stringMatching(/\./)]);
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, taken.has(`${x} ${y}`)]).toEqual([title, false]);
          taken.add(`${x} ${y}`);
        }
      }
    }
    expect(made.panels.length).toBe(panels.length + panelRows.length);
  });

  test("leaves data source and instances to whoever imports it", async () => {
    const { templating, panels: all } = JSON.parse((await shell(["metrics", "dashboard"])).stdout);
    expect(templating.list.map(({ name }: { name: string }) => name)).toEqual([
      "datasource",
      "instance",
    ]);
    const targets = all.flatMap((panel: { targets?: object[] }) => panel.targets ?? []);
    for (const { datasource, expr } of targets) {
      expect(datasource).toEqual({ type: "prometheus", uid: "$datasource" });
      expect(expr).toContain('instance=~"$instance"');
    }
  });
});

describe("pkid metrics alerts", () => {
  test("are a file of rules, which is the document of --json", async () => {
    const { code, stdout, asked } = await shell(["metrics", "alerts"]);
    expect([code, asked]).toEqual([0, []]);
    expectGolden("alerts.yaml", stdout);
    const document = JSON.parse((await shell(["metrics", "alerts", "--json"])).stdout);
    expect(parse(stdout)).toEqual(document);
    expect(rules.map(({ alert }) => alert)).toEqual([...new Set(rules.map(({ alert }) => alert))]);
    for (const rule of rules) {
      expect(rule.for).toMatch(/^\d+m$/);
      expect(["critical", "warning"]).toContain(rule.labels.severity);
    }
  });

  test("say what to do with commands and checks that there are", async () => {
    for (const { annotations } of rules) {
      for (const [, line = ""] of annotations.remedy.matchAll(/`pkid ([^`]+)`/g)) {
        const words = line.split(" ");
        expect([line, (await shell([...words, "--help"])).code]).toEqual([line, 0]);
        const checks = words[1] === "--only" ? (words[2] ?? "").split(",") : [];
        for (const check of checks) expect<readonly string[]>(checkNames).toContain(check);
      }
    }
  });

  test("are for the job and the interval that are given", async () => {
    const flags = ["--job", "ca: two", "--backup-interval", "6h"];
    const { stdout } = await shell(["metrics", "alerts", ...flags]);
    expect(stdout).toContain('up{job="ca: two"} == 0');
    expect(stdout).toContain("> 0) > 64800\n");
    expect(parse(stdout).groups).toHaveLength(6);
    for (const wrong of [
      ["--job", 'a"'],
      ["--job", "a\nb"],
      ["--backup-interval", "soon"],
      ["--backup-interval", "0s"],
    ]) {
      expect([wrong, (await shell(["metrics", "alerts", ...wrong])).code]).toEqual([wrong, 2]);
    }
  });

  test("go to a file that holds earlier ones, and to no other", async () => {
    const file = at("pkid.rules.yml");
    for (let times = 0; times < 2; times++) {
      expect(await shell(["metrics", "alerts", "--out", file])).toMatchObject({
        code: 0,
        stdout: "",
      });
    }
    expect(readFileSync(file, "utf8")).toBe((await shell(["metrics", "alerts"])).stdout);
    writeFileSync(at("own.yml"), "groups: []\n");
    const { code, stderr } = await shell(["metrics", "alerts", "--out", at("own.yml")]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("is not replaced")]);
    for (const verb of ["alerts", "dashboard"]) {
      await shell(["metrics", verb, "--json", "--out", at(`${verb}.json`)]);
      const printed = (await shell(["metrics", verb, "--json"])).stdout;
      expect(JSON.parse(readFileSync(at(`${verb}.json`), "utf8"))).toEqual(JSON.parse(printed));
    }
  });
});

/** Words of an expression that neither PromQL nor the table of metrics knows. */
function strangersIn(expression: string): readonly string[] {
  const bare = expression
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/\{[^}]*\}/g, "")
    .replaceAll(/\bby \([^)]*\)/g, "");
  const names = bare.match(/[a-z_]\w*/gi) ?? [];
  const strange = names.filter((name) => !words.has(name) && name !== "up" && !measured(name));
  const [metric = ""] = names.filter((name) => !words.has(name));
  const labels = [...expression.matchAll(/\bby \(([^)]*)\)/g)]
    .flatMap(([, inner = ""]) => inner.split(", "))
    .filter((label) => label !== "" && valuesOf(metric, label) === undefined);
  const matchers = [...expression.matchAll(/(\w+)(=~|!~|=)"((?:[^"\\]|\\.)*)"/g)].flatMap(
    ([, label = "", operator = "", value = ""]) => {
      const values = valuesOf(metric, label);
      if (values === undefined) return [label];
      if (values === "any") return [];
      const pattern = operator === "=" ? [value] : value.split(/\|(?![^(]*\))/);
      const isThere = (one: string) => values.some((known) => new RegExp(`^(${one})$`).test(known));
      return pattern.every(isThere) ? [] : [value];
    },
  );
  return [...strange, ...labels, ...matchers];
}

/** The metric of a series, whose buckets have a name of their own. */
function measured(name: string): MetricName | undefined {
  const base = name.replace(/_bucket$/, "");
  if (!Object.hasOwn(metricTable, base)) return undefined;
  const known = base as MetricName; // A key of the table.
  return (metricOf(known).type === "histogram") === (base !== name) ? known : undefined;
}

/** What a label may be; undefined where the metric has no such label. */
function valuesOf(name: string, label: string): readonly string[] | "any" | undefined {
  if (label === "instance" || (label === "job" && name === "up")) return "any";
  const metric = measured(name);
  if (metric === undefined) return undefined;
  if (label === "le") return metricOf(metric).type === "histogram" ? "any" : undefined;
  const values = metricOf(metric).labels[label];
  if (values === "mounted") return routes;
  return values === "code" ? ["200", "503"] : values;
}

const routes = Object.values(operations).flatMap((row) => routesOf(row).map(({ path }) => path));
const words = new Set("sum by rate increase resets absent time topk histogram_quantile".split(" "));
