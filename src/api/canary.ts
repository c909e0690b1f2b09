/** The canary in JSON: a probe of CAs on demand, with what each stage took. */

import { caId } from "#core/ids.ts";
import { many, oneOf, optional, shape, text, type ValueOf, words } from "#core/shape.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { thePlatform } from "#domain/access/targets.ts";
import type { Canary } from "#domain/canary/canary.ts";
import { type ProbeReport, probeResults, stages } from "#domain/canary/stages.ts";
import type { OperationName } from "#operations";
import { count, present, serialText } from "./shapes.ts";

/** Handler for `canary.run`. */
export function canaryHandlers({ canary }: { readonly canary: Pick<Canary, "run"> }) {
  return {
    "canary.run": operation({
      summary:
        "Have CAs issue and revoke a certificate nobody uses, and tell what each stage took.",
      target: thePlatform,
      input: { ca_id: optional(text({ min: 1, max: 64 })) },
      output: runShape,
      refuses: ["missing_field", "not_found", "operation_running"],
      run: async ({ input, origin }) => {
        const only = input.ca_id === undefined ? undefined : caId(input.ca_id);
        const reports = await canary.run(origin, only);
        const failed = reports.find(({ result }) => result === "error");
        return { result: failed?.result ?? "success", probes: reports.map(probeJson) };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const resultText = oneOf(probeResults);
const probeShape = shape({
  ca: words(),
  ca_id: optional(words()),
  serial: optional(serialText),
  result: resultText,
  stage: optional(oneOf(stages)),
  reason: optional(words()),
  milliseconds: count,
  stages: many(shape({ stage: oneOf(stages), milliseconds: count, result: resultText })),
});
const runShape = shape({ result: resultText, probes: many(probeShape) });

/** A CA that was not found is called as it was asked for. */
function probeJson(report: ProbeReport): ValueOf<typeof probeShape> {
  const { ca, reference, serial, result, stage, reason, milliseconds } = report;
  return present({
    ca: ca?.label ?? reference,
    ca_id: ca?.id,
    serial,
    result,
    stage,
    reason,
    milliseconds,
    stages: report.stages,
  });
}
