/** How the button that approves looks. */

import type { Answers } from "#api/answers.ts";

type OperationClass = Answers["approval.show"]["operation_class"];

/** What cannot be undone is red, and no key sends it by itself. */
export const lookOf = (operationClass: OperationClass): "primary" | "danger" =>
  /revo|retire|delete/.test(operationClass) ? "danger" : "primary";
