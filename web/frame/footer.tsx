/** What runs here, where it is described, and the command that shows what the page shows. */

import { hrefOf } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import type { PageRow } from "#web/routes.tsx";
import { useAsked } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";

/** Its name, beside it the host it was reached by where that is another one. */
function ThisInstance() {
  const { reply } = useAsked("instance.show", {});
  const { host } = location;
  if (reply?.kind !== "answered") return <span>{host}</span>;
  const { id, name = host } = reply.answer;
  return (
    <>
      <span title={`Instance ${id}`}>
        {name} <span class="mono">({id.slice(0, 8)})</span>
      </span>
      {name !== host && <span>at {host}</span>}
    </>
  );
}

/** Below every page. */
export function Footer({ page }: { readonly page: PageRow | undefined }) {
  const address = useAddress();
  const { reply } = useAsked("health.live_api", {});
  const version = reply?.kind === "answered" ? reply.answer.build.version : "";
  return (
    <footer class="bottom">
      <span>pkid {version}</span>
      <ThisInstance />
      <a href={hrefOf(["manual"])}>Documentation</a>
      <a href={hrefOf(["manual", "interface"])}>HTTP interface</a>
      {page && <Copy text={page.pkid(address)} name="command" />}
    </footer>
  );
}
