/** The events of a CA that was created, or that was refused. */

import type { Action } from "#core/audit/actions.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { Problem } from "#core/problems.ts";
import { type Name, nameText } from "#core/x509/names.ts";
import type { Origin } from "#domain/actor.ts";
import { aboutCa } from "#domain/authorities/events.ts";
import { refusingGates } from "#domain/certificates/events.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";

import type { Succeeded } from "./rollover.ts";
import type { CaSigner } from "#domain/authorities/signers.ts";

/** What events say of a creation. */
interface ToldCreation {
  readonly origin: Origin;
  readonly request: {
    readonly label: string;
    readonly keyType: string;
    readonly alternativeKeyType?: string | undefined;
  };
  readonly predecessor?: Succeeded;
  readonly parent: CaSigner | undefined;
  readonly subject: Name;
}

/** What is told of a CA that was created, or that was not. */
export function creationEvents(
  creation: ToldCreation,
  ca: CaSigner["ca"],
  action: Extract<Action, "ca.init_root" | "ca.issue_intermediate" | "ca.rotate">,
) {
  const { origin, request, parent, subject, predecessor } = creation;
  const detail = {
    subject: nameText(subject),
    parent: parent?.ca.id,
    key_type: request.keyType,
    alt_key_type: request.alternativeKeyType,
    old_ca: predecessor?.ca.id,
  };
  const about = { action, ...aboutCa(origin, ca), targetName: request.label };
  // A CA that was not created has no id to be found under.
  const nothing = { ...about, caId: parent?.ca.id, target: parent?.ca.id };
  return {
    issued: ({ serial, certificate }: Pick<CertificateRecord, "serial" | "certificate">) => {
      const bound = { serial, new_ca: predecessor && ca.id, sha256: sha256Hex(certificate) };
      const result = "success" as const;
      return [{ ...about, result, serial, detail: { ...detail, ...bound } }];
    },
    refused: (_refusal: Problem, gates: Parameters<typeof refusingGates>[0]) => [
      {
        ...nothing,
        result: "denied" as const,
        detail: { ...detail, reason: refusingGates(gates) },
      },
    ],
    failed: (error: string) => [
      { ...nothing, result: "error" as const, detail: { ...detail, reason: error } },
    ],
  };
}
