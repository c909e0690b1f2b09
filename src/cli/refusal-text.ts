/**
 * Renders refusals of the server for people: the sentence, then what a person can act on, one thing
 * a line.
 */

import type { Answers } from "#api/answers.ts";

import type { Answer } from "./client.ts";
import type { Refusal } from "./failure.ts";
import { type ItemIn, printable, type Row, rowOf, rowsAt, textAt } from "./rows.ts";

/**
 * The sentence with code and request id; of gates only those that failed, other facts as they are.
 */
export function refusalText({ body }: Refusal): string {
  const { error, code, request_id, ...facts } = body;
  const lines = Object.keys(facts).flatMap((key) =>
    key === "gates" ? failedGates(facts) : [`${key}: ${textAt(facts, key)}`],
  );
  const told = lines.map((line) => `  ${printable(line)}\n`).join("");
  return `error: ${printable(String(error))} (${code}, request ${request_id})\n${told}`;
}

type Gate = ItemIn<Answer<"cert.preview">, "gates">;

/** Why a gate passed or failed: its own reason and every finding. */
export function gateReason(gate: Gate): string {
  const found = rowsAt(gate, "findings").map((finding) => textAt(finding, "description"));
  return [textAt(gate, "reason"), ...found].filter((text) => text !== "").join("; ");
}

function failedGates(facts: Row): readonly string[] {
  const failed = rowsAt(rowOf<Answers["cert.preview"]>(facts), "gates").filter(
    (gate) => textAt(gate, "status") === "fail",
  );
  return failed.map((gate) => `${textAt(gate, "name")}: ${gateReason(gate)}`);
}
