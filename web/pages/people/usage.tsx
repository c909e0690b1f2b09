/** What a tenant has used of its quotas, as bars with their figures. */

import { Asked } from "#web/ui/asked.tsx";

/** Of the last seven days and now. */
export function Usage({ id }: { readonly id: string }) {
  return (
    <Asked name="tenant.usage" members={{ id, days: 7 }} live={["cert.*"]}>
      {({ today, active_certs, quotas, total_issued, total_revoked, cas }) => (
        <section class="fields" aria-label="Use">
          <Bar name="Issued today" used={today.certs_issued} of={quotas.max_certs_per_day} />
          <Bar name="Valid now" used={active_certs} of={quotas.max_active_certs} />
          <dl>
            <dt>Issued ever</dt>
            <dd>{total_issued.toLocaleString("en")}</dd>
            <dt>Revoked ever</dt>
            <dd>{total_revoked.toLocaleString("en")}</dd>
            <dt>CAs</dt>
            <dd>{cas}</dd>
          </dl>
        </section>
      )}
    </Asked>
  );
}

interface BarProps {
  readonly name: string;
  readonly used: number;
  /** 0 is unlimited: then there is nothing to fill. */
  readonly of: number;
}

function Bar({ name, used, of }: BarProps) {
  const said = `${used.toLocaleString("en")} of ${of === 0 ? "unlimited" : of.toLocaleString("en")}`;
  return (
    <p class="use">
      <span>
        {name}: {said}
      </span>
      {of > 0 && <meter aria-label={name} min={0} max={of} high={of * 0.9} value={used} />}
    </p>
  );
}
