/** How far the rollover of a CA has come: its keys, who chains to which, and what can be done. */

import { hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Asked } from "#web/ui/asked.tsx";
import { Distance, Time } from "#web/ui/time.tsx";
import { type Ca, caActions, caHref, keyWords, notRotatableReason } from "./ca.ts";
import { dependantWords, useDependants } from "./dependants.ts";
import { oldestSuperseded, useAncestors, useLineage } from "./relatives.ts";
import { type PicturedKey, RolloverPicture } from "./rollover-picture.tsx";

/** A tab of a CA. */
export function RolloverTab({ ca }: { readonly ca: Ca }) {
  const address = useAddress();
  const lineage = useLineage(ca);
  const retiring = oldestSuperseded(lineage);
  const where = { caId: ca.id, tenantId: ca.tenant_id };
  return (
    <>
      <div class="buttons">
        <Action
          operation="ca.rotate"
          where={where}
          look="outlined"
          href={hrefWith(address, { dialog: "rotate" })}
          unless={notRotatableReason(ca)}
        >
          Rotate the key
        </Action>
        <Action
          operation="ca.retire"
          where={where}
          look="danger"
          href={hrefWith(address, { dialog: "retire" })}
          unless={retiring === undefined ? "No key of it is superseded." : undefined}
        >
          {retiring === undefined ? "Retire the old key" : `Retire ${retiring.label}`}
        </Action>
      </div>
      {ca.certificate !== undefined && <LineagePicture ca={ca} lineage={lineage} />}
      {retiring !== undefined && <Progress of={retiring} />}
    </>
  );
}

interface LineagePictureProps {
  readonly ca: Ca;
  readonly lineage: readonly Ca[];
  /** Drawn behind the others. */
  readonly planned?: PicturedKey;
}

/** The keys of a lineage with what chains to each. */
export function LineagePicture({ ca, lineage, planned }: LineagePictureProps) {
  const counts = useDependants(lineage);
  const [issuer] = useAncestors(ca);
  const keys: readonly PicturedKey[] = lineage.map((member) => ({
    id: member.id,
    label: member.label,
    key: keyWords(member),
    state: planned !== undefined && member.status === "active" ? "superseded" : member.status,
    until: member.not_after,
    below: dependantWords(counts.get(member.id)),
  }));
  return (
    <RolloverPicture
      issuer={issuer?.label ?? (ca.csr === undefined ? "itself" : "an external CA")}
      keys={planned === undefined ? keys : keys.concat(planned)}
    />
  );
}

/** What still holds the old key. */
const Progress = ({ of }: { readonly of: Ca }) => (
  <section class="card" aria-label="Retirement">
    <h2>
      Retirement of <a href={caHref(of.id)}>{of.label}</a>
    </h2>
    <Asked name="ca.rotation" members={{ id: of.id }} live={caActions}>
      {({ outstanding_leaves, retire_after, safe_to_retire }) => (
        <dl>
          <dt>Certificates still valid</dt>
          <dd>{outstanding_leaves.toLocaleString("en")}</dd>
          <dt>The last one expires</dt>
          <dd>
            <Time at={retire_after} />{" "}
            {retire_after !== undefined && (
              <>
                (<Distance at={retire_after} />)
              </>
            )}
          </dd>
          <dt>Can be retired</dt>
          <dd>
            {safe_to_retire
              ? "now: nothing depends on it"
              : "once they have expired or have been replaced"}
          </dd>
        </dl>
      )}
    </Asked>
  </section>
);
