/** `pkid hsm verify-log`: verifies a ledger document with the pinned key and nothing else. */

import { required, word } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import { readArgument } from "#cli/io.ts";
import { printable, table } from "#cli/rows.ts";
import { ledgerOctetsMax, verifyLedger } from "#core/audit/ledger-verification.ts";
import type { RuleVerdict } from "#core/audit/ledger-verification-verdict.ts";
import { parseFingerprint } from "#core/x509/public-keys.ts";

/** Ends with 1 when a rule is violated, or for what is no ledger document. */
export const hsmVerifyLog: Command = command({
  summary: "Verify a file of `hsm log` by rules V1 to V9; exit 1 at the first violated one.",
  local: true,
  args: {
    file: word(),
    key: required("Pinned fingerprint of the ledger key.", "fingerprint"),
  },
  run: async ({ args: { file, key }, io, print, note }) => {
    const pinned = parseFingerprint(key);
    const verified = verifyLedger(await readArgument(io, file, ledgerOctetsMax), pinned);
    if (typeof verified === "string") {
      throw new Failure(`${file} is no ledger document: ${printable(verified)}.`);
    }
    const { rules, valid } = verified;
    const document = {
      valid,
      ledger_id: verified.ledgerId,
      combined: verified.combined,
      first_number: verified.firstNumber,
      last_number: verified.lastNumber,
      last_hash: verified.lastHash,
      exported_at: verified.exportedAt,
      rules: rules.map(ruleJson),
    };
    print(document, table(["rule", "status", "checked", "unproven", "detail"], rules.map(ruleRow)));
    const violated = rules.find(({ status }) => status === "violated");
    if (violated === undefined) return 0;
    note(`${violated.rule} is violated: ${printable(sentence(violated))}.`);
    return 1;
  },
});

const ruleJson = ({ rule, status, checked, unproven, detail, entry, opId }: RuleVerdict) => ({
  rule,
  status,
  checked,
  unproven,
  detail,
  entry,
  op_id: opId,
});

const ruleRow = (verdict: RuleVerdict): readonly string[] => {
  const { rule, status, checked, unproven } = verdict;
  return [rule, status, String(checked), String(unproven), sentence(verdict)];
};

function sentence({ detail, entry, opId }: RuleVerdict): string {
  if (entry !== undefined) return `entry ${entry}: ${detail}`;
  return opId === undefined ? detail : `operation ${opId}: ${detail}`;
}
