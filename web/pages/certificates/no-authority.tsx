/** What to do where there is no CA at all. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Copy } from "#web/ui/copy.tsx";

/** In the place of a list. */
export function NoAuthority() {
  const { query } = useAddress();
  return (
    <div class="empty">
      <p>There is no certificate authority yet whose certificates you may see.</p>
      <a class="button" href={hrefOf(["authorities"], { tenant: query.tenant })}>
        Go to the authorities
      </a>
      <Copy text="pkid ca init-root --label root --cn 'Example Root'" name="command" />
    </div>
  );
}
