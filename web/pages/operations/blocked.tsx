/** Keys that are never certified again: which, why, who said so, and how to block and unblock. */

import { hrefOf, hrefWith } from "#web/address.ts";
import { useAddress, useConsole } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Confirm } from "#web/ui/confirm.tsx";
import { Copy, Fingerprint, ShortFingerprint } from "#web/ui/copy.tsx";
import { Facts } from "#web/ui/facts.tsx";
import { type Filter, Filters } from "#web/ui/filters.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Panel, useDialog } from "#web/ui/layers.tsx";
import { type Column, List, type RowOf } from "#web/ui/list.tsx";
import { Time } from "#web/ui/time.tsx";
import { WithSerials } from "#web/ui/value.tsx";
import { BlockDialog } from "./block-dialog.tsx";

type BlockedKey = RowOf<"blocked_key.list">;

/**
 * The segment behind `blocked` is the row of one, whose panel is open, and `key` its fingerprint,
 * by which it is looked up: the server takes no escaped slash in a path, and fingerprints have
 * slashes.
 */
export function BlockedPart({ rest: [id] }: { readonly rest: readonly string[] }) {
  const address = useAddress();
  const { open, close } = useDialog();
  const { q, public_key_sha256, key } = address.query;
  const block = (
    <Action operation="key.block" href={hrefWith(address, { dialog: "block" })} look="primary">
      Block a key
    </Action>
  );
  return (
    <>
      <Heading name="Blocked keys">{block}</Heading>
      <Filters filters={filters} />
      <div class="beside">
        <List
          name="blocked_key.list"
          members={{ q, public_key_sha256 }}
          caption="Blocked keys, newest first"
          columns={columns}
          keyOf={(row) => row.id}
          hrefOf={(row) => panelHref(row, address.query)}
          selected={id}
          live={["key.*"]}
          empty={
            <>
              <p>
                {q === undefined && public_key_sha256 === undefined
                  ? "No key is blocked. A revocation for key compromise blocks its key by itself."
                  : "No blocked key fits."}
              </p>
              {block}
              <Copy
                text="pkid keys block add --cert leaked.pem --reason 'Found in a repository'"
                name="command"
              />
            </>
          }
        />
        {id !== undefined && <BlockedPanel fingerprint={key ?? ""} id={id} />}
      </div>
      {open === "block" && <BlockDialog onClose={close} />}
    </>
  );
}

const columns: readonly Column<BlockedKey>[] = [
  {
    name: "Key",
    cell: ({ public_key_fingerprint: text }) => <ShortFingerprint text={text} />,
  },
  { name: "Why", wraps: true, cell: ({ reason }) => <WithSerials text={reason} short /> },
  { name: "By", wide: true, cell: ({ created_by }) => created_by },
  { name: "Since", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { name: "Comes from", wide: true, cell: ({ source }) => source.replaceAll("_", " ") },
];

const filters: readonly Filter[] = [
  { name: "q", label: "Why" },
  { name: "public_key_sha256", label: "Key" },
];

/** The filters of the list stay, so that closing the panel leads back to them. */
const panelHref = (
  { public_key_fingerprint, id }: BlockedKey,
  query: Readonly<Record<string, string>>,
): string => hrefOf(["operations", "blocked", id], { ...query, key: public_key_fingerprint });

interface BlockedPanelProps {
  readonly fingerprint: string;
  readonly id: string;
}

function BlockedPanel({ fingerprint, id }: BlockedPanelProps) {
  const { query } = useAddress();
  const members = { public_key_sha256: fingerprint || undefined, limit: 500 };
  const { reply, refresh } = useAsked("blocked_key.list", members, ["key.*"]);
  const closeHref = hrefOf(["operations", "blocked"], { ...query, key: undefined });
  if (reply === undefined) return <Waiting />;
  if (reply.kind !== "answered") {
    return (
      <Panel title="Blocked key" closeHref={closeHref}>
        <Outcome reply={reply} again={refresh} />
      </Panel>
    );
  }
  const row = reply.answer.items.find((one) => one.id === id);
  if (row !== undefined) return <Shown row={row} closeHref={closeHref} />;
  if (reply.answer.has_more) {
    return (
      <Panel title="Blocked key" closeHref={closeHref}>
        <p>
          This key is blocked {reply.answer.total.toLocaleString("en")} times, and this block is not
          among the newest {reply.answer.items.length}.
        </p>
      </Panel>
    );
  }
  return (
    <Panel title="It is not blocked" closeHref={closeHref}>
      <p>This key is not, or no longer, on the list that you may see.</p>
    </Panel>
  );
}

interface ShownProps {
  readonly row: BlockedKey;
  readonly closeHref: string;
}

function Shown({ row, closeHref }: ShownProps) {
  const { tenants } = useConsole();
  const address = useAddress();
  const { open, close } = useDialog();
  const { public_key_fingerprint, reason, source, created_by, created_at, tenant_id } = row;
  const tenant = tenants.find((one) => one.id === tenant_id);
  const unblock = (
    <Action operation="key.unblock" href={hrefWith(address, { dialog: "unblock" })} look="danger">
      Unblock
    </Action>
  );
  return (
    <Panel title="Blocked key" closeHref={closeHref} actions={unblock}>
      <Facts
        of={{
          Key: <Fingerprint text={public_key_fingerprint} />,
          Why: <WithSerials text={reason} />,
          By: created_by,
          Since: <Time at={created_at} />,
          "Comes from": source.replaceAll("_", " "),
          "Blocked for": tenant_id === undefined ? "every tenant" : (tenant?.slug ?? tenant_id),
        }}
      />
      <a href={hrefOf(["certificates"], { ca: "*", public_key_sha256: public_key_fingerprint })}>
        Certificates with this key
      </a>
      {open === "unblock" && (
        <Confirm
          operation="key.unblock"
          members={{ id: row.id }}
          title="Unblock this key"
          does="Unblock the key"
          onClose={close}
          onDone={close}
        >
          <p>
            From the next request on the key is certified again: <q>{reason}</q> no longer stops it.
            What was revoked stays revoked.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}
