/** Writes alerting rules as Prometheus reads them from a file. */

import { yamlValue } from "#config/show.ts";

import type { AlertRules } from "./command.ts";

/** How every file begins that this command may replace. */
export const rulesLine = "# Alerting rules written by pkid metrics alerts, which may replace them.";

/** A file of rules in YAML. */
export function rulesYaml({ groups }: AlertRules): string {
  const lines = groups.flatMap(({ name, rules }) => [
    `  - name: ${yamlValue(name)}`,
    "    rules:",
    ...rules.flatMap(ruleLines),
  ]);
  return `${[rulesLine, "groups:", ...lines].join("\n")}\n`;
}

/** The expression is a block of its own: there it stands as one would type it. */
const ruleLines = (rule: AlertRules["groups"][number]["rules"][number]): readonly string[] => [
  `      - alert: ${yamlValue(rule.alert)}`,
  "        expr: |-",
  `          ${rule.expr}`,
  `        for: ${yamlValue(rule.for)}`,
  ...members("labels", rule.labels),
  ...members("annotations", rule.annotations),
];

const members = (name: string, of: Readonly<Record<string, string>>): readonly string[] => [
  `        ${name}:`,
  ...Object.entries(of).map(([key, value]) => `          ${key}: ${yamlValue(value)}`),
];
