/** The manual, searched and with this instance's addresses, and the interface to try out. */

import { InterfacePart } from "#web/pages/documentation/interface.tsx";
import { ManualPart } from "#web/pages/documentation/manual.tsx";
import type { PageProps } from "#web/page.ts";
import { Parts } from "#web/ui/tabs.tsx";

/** `interface` behind the page is the HTTP interface; everything else is a chapter. */
export function DocumentationPage({ rest: [part = "chapters", name] }: PageProps) {
  return (
    <Parts name="Documentation" page="manual" tabs={parts} current={part}>
      {part === "interface" ? <InterfacePart name={name} /> : <ManualPart name={name} />}
    </Parts>
  );
}

const parts = [
  { segment: "chapters", name: "Manual" },
  { segment: "interface", name: "HTTP interface" },
] as const;
