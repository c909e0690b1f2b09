/** One certificate from the form to its answer: previewed as one types, sent once, key kept. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { hrefOf, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { useKeyring } from "#web/keyring.ts";
import { type Right, useRight } from "#web/rights.ts";
import { useAsked } from "#web/ui/asked.tsx";
import { useSend } from "#web/ui/form.tsx";
import { sendable } from "#web/ui/given.ts";
import { useSettled } from "#web/ui/settled.ts";
import type { Choice } from "./choice.tsx";
import { fileStem } from "./file-names.ts";
import { type KeyForm, wantedOf } from "./key-fields.tsx";
import { parseKeyType } from "./key-types.ts";
import { type MadeRequest, requestFor, useMadeRequest } from "./made-request.ts";
import { readName } from "./names.ts";

export interface Typed {
  readonly form: KeyForm;
  readonly pasted: string;
}

/** What the form and the preview show, and what sends it. */
export function useIssuing(choice: Choice, { form, pasted }: Typed) {
  const { from, key: type } = useAddress().query;
  const here = from !== "csr" && choice.profile.algorithm === "classical";
  const wanted = here ? wantedOf(form) : undefined;
  const making = useMadeRequest(wanted, parseKeyType(type) ?? "ecdsa-p256");
  const pastedRequest = useMemo(() => sendable(pasted, "request"), [pasted]);
  const request = useSettled(pastedRequest);
  const right = rightFor(
    choice,
    useRight("cert.issue", { caId: choice.ca.id, tenantId: choice.ca.tenant_id }),
  );
  const csr = here ? wanted && making.made?.request : request || undefined;
  const shown = csr === undefined || !right.allowed ? undefined : membersOf(choice, csr);
  const preview = useAsked("cert.preview", shown);
  const issue = useSend("cert.issue");
  const sent = useRef<Sent | undefined>(undefined);
  useOutcome(issue.reply, sent);
  const send = async () => {
    if (!here) {
      sent.current = undefined;
      await issue.send(membersOf(choice, pastedRequest));
    } else if (wanted !== undefined && making.key !== undefined) {
      const made = await requestFor(making.key, wanted);
      sent.current = { made, name: fileStem(wanted.commonName) };
      await issue.send(membersOf(choice, made.request));
    }
  };
  const given = here ? wanted !== undefined : pastedRequest !== "";
  const typing = here ? readName(form.names.typing) : undefined;
  const unready = unreadyBecause({ here, given, typing, made: making.key !== undefined });
  const reply = pointed(issue.reply ?? preview.reply);
  return { here, making, wanted, right, shown, preview, issue, send, unready, reply };
}

interface Sent {
  readonly made: MadeRequest;
  readonly name: string;
}

/**
 * Keeps the key of whatever may have become a certificate, and goes to what came of it. Without an
 * answer nobody knows whether there is one.
 */
function useOutcome(
  reply: Reply<{ readonly ca_id: string; readonly serial: string }> | undefined,
  sent: { readonly current: Sent | undefined },
): void {
  const keyring = useKeyring();
  useEffect(() => {
    if (reply === undefined) return;
    if (reply.kind === "refused" && reply.refusal.code !== "no_answer") return;
    const { made, name = "" } = sent.current ?? {};
    if (made !== undefined) keyring.keep(made.key, name, made.request);
    if (reply.kind === "answered") {
      visit(hrefOf(["issue", "result", reply.answer.ca_id, reply.answer.serial]));
    } else if (reply.kind === "parked") {
      const key = made?.key.fingerprint;
      visit(hrefOf(["issue", "request", reply.parked.approvalId], { key }));
    }
  }, [reply]);
}

/** What the address names and cannot be used stops whoever may issue, too. */
export const rightFor = ({ barred }: Choice, right: Right): Right =>
  barred === undefined ? right : { allowed: false, reason: barred };

const membersOf = ({ ca, profile, days, mustStaple }: Choice, csr: string) => ({
  id: ca.id,
  csr,
  profile: profile.name,
  ...(days === undefined ? {} : { validity_days: days }),
  ...(mustStaple === undefined ? {} : { must_staple: mustStaple }),
});

interface Readiness {
  readonly here: boolean;
  readonly given: boolean;
  readonly typing: ReturnType<typeof readName> | undefined;
  readonly made: boolean;
}

function unreadyBecause({ here, given, typing, made }: Readiness): string | undefined {
  if (typing?.ok === false && typing.fault !== "") return "Mend the name that is being typed.";
  if (!given) return here ? "Type a name first." : "Paste a request first.";
  return here && !made ? "The key is being made." : undefined;
}

/** With the field that a refusal means, where its code says so and it names none. */
function pointed(reply: Reply<unknown> | undefined): Reply<unknown> | undefined {
  if (reply?.kind !== "refused") return reply;
  const { refusal } = reply;
  const field = refusal.facts.field ?? fieldsMeant[refusal.code];
  return { ...reply, refusal: { ...refusal, facts: { ...refusal.facts, field } } };
}

const fieldsMeant: Readonly<Record<string, string>> = {
  validity_exceeds_limit: "validity_days",
  unknown_profile: "profile",
  unsupported_name: "names",
  bad_csr: "csr",
  key_usage_unsuitable: "key",
  ca_not_active: "id",
};
