/** What to do where there is no CA at all. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Action } from "#web/ui/action.tsx";
import { Copy } from "#web/ui/copy.tsx";

/** In the place of a list. */
export function NoAuthority() {
  const { query } = useAddress();
  return (
    <div class="empty">
      <p>There is no certificate authority yet whose certificates you may see.</p>
      <Action
        operation="ca.init_root"
        look="outlined"
        href={hrefOf(["authorities"], { tenant: query.tenant })}
      >
        Go to the authorities
      </Action>
      <Copy text="pkid ca init-root --label root --cn 'Example Root'" name="command" />
    </div>
  );
}
