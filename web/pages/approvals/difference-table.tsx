/** The difference a request makes, beside how things are now while it can still be decided. */

import type { Answers } from "#api/answers.ts";
import { ask, type Credential, type Reply, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import { useAnswer } from "#web/ui/answer.ts";
import { useAside, useMissing } from "#web/ui/asked.tsx";
import { isTenant } from "#web/ui/tenants.ts";
import { Value } from "#web/ui/value.tsx";
import { changesOf, type Now } from "./difference.ts";

type Approval = Answers["approval.show"];

interface DifferenceProps {
  readonly approval: Approval;
}

/** A table of two columns, also for those who hear it. */
export function Difference({ approval }: DifferenceProps) {
  const now = useNow(approval);
  const changes = changesOf(approval, now);
  if (changes.length === 0) return null;
  return (
    <>
      <h3>The difference it makes</h3>
      <table class="difference">
        <caption class="unseen">The difference it makes</caption>
        <thead>
          <tr>
            <td />
            <th scope="col">Before</th>
            <th scope="col">Afterwards</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ what, before, after }) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td class="quiet">
                <Value text={before} />
              </td>
              <td>
                <Value text={after} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** Nothing is looked up once it is over: things are no longer as they were. */
function useNow({ operation, status, details, tenant_id = "" }: Approval): Now {
  const { tenants } = useConsole();
  const tenant = tenants.find(isTenant(tenant_id));
  const open = status === "pending" || status === "failed";
  const { ca_id, subject_ca_id } = details as Partial<Record<string, unknown>>; // A JSON object.
  const id = open && typeof ca_id === "string" ? ca_id : undefined;
  const other = open && typeof subject_ca_id === "string" ? subject_ca_id : undefined;
  const ca = answerOf(useAside("ca.show", asked(id)).reply);
  const subject = answerOf(useAside("ca.show", asked(other)).reply);
  const counts = countsCertificates.has(operation) ? id : undefined;
  const valid = useValid(counts);
  const kek = answerOf(
    useAside("kek.show", open && operation === "kek.rotate" ? {} : undefined).reply,
  );
  const oldest = useOldest(operation === "ca.retire" ? id : undefined);
  return { ca, other: subject?.label, valid, tenant: tenant?.slug, kek, ...oldest };
}

const countsCertificates: ReadonlySet<string> = new Set([
  "ca.rotate",
  "cert.revoke_bulk",
  "acme.replace.plan",
]);

const asked = (id: string | undefined) => (id === undefined ? undefined : { id });

const answerOf = <Answer,>(reply: Reply<Answer> | undefined): Answer | undefined =>
  reply?.kind === "answered" ? reply.answer : undefined;

/** Good and held ones of a CA. */
function useValid(id: string | undefined): number | undefined {
  const good = useAside(
    "cert.list",
    id === undefined ? undefined : { id, status: "good", limit: 1 },
  );
  const held = useAside(
    "cert.list",
    id === undefined ? undefined : { id, status: "held", limit: 1 },
  );
  const [one, other] = [answerOf(good.reply)?.total, answerOf(held.reply)?.total];
  return one === undefined || other === undefined ? undefined : one + other;
}

/** The key that retirement would meet: the oldest superseded one of the CA's lineage. */
function useOldest(id: string | undefined): Pick<Now, "oldest" | "outstanding"> {
  const answering = useAnswer(
    id === undefined
      ? undefined
      : { key: id, subject: id, asked: (credential, signal) => oldestOf(id, credential, signal) },
  );
  useMissing(answering);
  return answerOf(answering.reply) ?? {};
}

/** Nothing where one key of the lineage cannot be read: it might be the oldest. */
async function oldestOf(
  id: string,
  credential: Credential,
  signal: AbortSignal,
): Promise<Reply<Pick<Now, "oldest" | "outstanding">>> {
  let oldest: Pick<Now, "oldest" | "outstanding"> = {};
  let next: string | undefined = id;
  for (let keys = 0; next !== undefined && keys < keysMax; keys++) {
    const rotation: Reply<Answers["ca.rotation"]> = await replied(
      ask("ca.rotation", { id: next }, credential, signal),
    );
    if (rotation.kind !== "answered") return rotation;
    const { ca, outstanding_leaves: outstanding } = rotation.answer;
    if (ca.status === "superseded") oldest = { oldest: ca.label, outstanding };
    next = rotation.answer.predecessor?.id;
  }
  return { kind: "answered", answer: oldest };
}

/** More keys than any lineage has seen. */
const keysMax = 50;
