/** The revocation lists of a CA: how old each is, when it must be followed, and publishing now. */

import type { Answers } from "#api/answers.ts";
import { addressOf } from "#web/api.ts";
import { Action } from "#web/ui/action.tsx";
import { Asked, Outcome } from "#web/ui/asked.tsx";
import { Download } from "#web/ui/download.tsx";
import { useSend } from "#web/ui/form.tsx";
import { type Column, Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import type { Ca } from "./ca.ts";
import { explained } from "./refusals.ts";

type State = Answers["crl.status"];
type Scope = State["scopes"][number];

/** A tab of a CA. */
export function ListsTab({ ca }: { readonly ca: Ca }) {
  if (ca.status === "pending") {
    return <p class="empty">It publishes its first list once it has its certificate.</p>;
  }
  return (
    <Asked name="crl.status" members={{ id: ca.id }} live={["crl.publish"]}>
      {(state, refresh) => <Lists ca={ca} state={state} refresh={refresh} />}
    </Asked>
  );
}

interface ListsProps {
  readonly ca: Ca;
  readonly state: State;
  readonly refresh: () => void;
}

function Lists({ ca, state, refresh }: ListsProps) {
  const publishing = useSend("crl.publish");
  const publish = async () => {
    if ((await publishing.send({ id: ca.id })) !== undefined) refresh();
  };
  const { reply } = publishing;
  return (
    <>
      <div class="buttons">
        <Action
          operation="crl.publish"
          where={{ caId: ca.id, tenantId: ca.tenant_id }}
          look="primary"
          unless={publishing.busy ? "It is being signed." : undefined}
          onClick={() => void publish()}
        >
          Publish now
        </Action>
      </div>
      {reply?.kind === "answered" && (
        <p class="notice good" role="status">
          <span>
            <span aria-hidden="true">✓ </span>
            {publishedWords(reply.answer)}
          </span>
        </p>
      )}
      <Outcome reply={explained(reply)} />
      <div class="list">
        <div class="scroll">
          <Table
            caption={`Revocation lists of ${ca.label}`}
            columns={columnsOf(ca)}
            rows={state.scopes}
            keyOf={({ scope }) => scope}
          />
        </div>
      </div>
      <p class="quiet small">
        {state.sharded
          ? `New certificates name one of ${state.shard_count} partitions; the full list has everything.`
          : "One list has everything; there are no partitions."}
      </p>
    </>
  );
}

const publishedWords = ({ scopes }: Answers["crl.publish"]): string =>
  scopes.length === 1
    ? `Published as number ${scopes[0]?.number}.`
    : `${scopes.length} lists are published, the full one as number ${scopes[0]?.number}.`;

const columnsOf = (ca: Ca): readonly Column<Scope>[] => [
  { name: "List", cell: ({ scope }) => scopeWords(scope) },
  { name: "State", cell: ({ base }) => <ListState list={base} /> },
  { name: "Number", wide: true, cell: ({ base }) => base.number ?? "–" },
  { name: "Signed", wide: true, cell: ({ base }) => <Distance at={signedAt(base)} /> },
  { name: "Valid from", cell: ({ base }) => <Time at={base.this_update} />, wide: true },
  { name: "Next by", cell: ({ base }) => <Time at={base.next_update} /> },
  { name: "Entries", wide: true, cell: ({ base }) => base.revoked_count.toLocaleString("en") },
  { name: "Delta", wide: true, cell: ({ delta }) => <DeltaWords delta={delta} /> },
  { name: "Files", cell: (scope) => <ScopeFiles ca={ca} scope={scope} /> },
];

/** A list of before that was recorded has only the time it says of itself, which is set back. */
export const signedAt = ({ published_at, this_update }: State["base"]): string | undefined =>
  published_at ?? this_update;

/** Whether relying parties can use it now, by word and sign. */
export function ListState({ list }: { readonly list: State["base"] }) {
  if (list.available) return <Status word="current" tone="good" />;
  return list.expired ? <Status word="expired" /> : <Status word="not published" tone="warn" />;
}

function DeltaWords({ delta }: { readonly delta: Scope["delta"] }) {
  if (delta.number === undefined) return <>–</>;
  return (
    <>
      {delta.number} on {delta.base_crl_number}, {delta.revoked_count.toLocaleString("en")} entries
    </>
  );
}

interface ScopeFilesProps {
  readonly ca: Ca;
  readonly scope: Scope;
}

function ScopeFiles({ ca: { id, label }, scope: { scope, base, delta } }: ScopeFilesProps) {
  const shard = partitionOf(scope);
  const paths =
    shard === undefined
      ? [addressOf("crl.read", { id }), addressOf("crl.delta", { id })]
      : [
          addressOf("crl.partition", { id, shard }),
          addressOf("crl.partition_delta", { id, shard }),
        ];
  const [basePath = "", deltaPath = ""] = paths;
  const name = shard === undefined ? label : `${label}-${shard}`;
  return (
    <span class="buttons">
      {base.available && (
        <Download look="plain" path={basePath} file={`${name}.crl`}>
          CRL
          <span class="unseen"> of {scopeWords(scope)}</span>
        </Download>
      )}
      {delta.available && (
        <Download look="plain" path={deltaPath} file={`${name}-delta.crl`}>
          Delta
          <span class="unseen"> of {scopeWords(scope)}</span>
        </Download>
      )}
    </span>
  );
}

/** The number in the name of a partition's scope. */
const partitionOf = (scope: string): string | undefined => /\d+$/.exec(scope)?.[0];

function scopeWords(scope: string): string {
  const number = partitionOf(scope);
  return number === undefined ? "everything" : `partition ${number}`;
}
