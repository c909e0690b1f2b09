/** THE PAGES: where each lies, what it is called, and the file that draws it when it is needed. */

import type { FunctionComponent } from "preact";
import { certificatesLine } from "#web/pages/certificates/line.ts";
import type { Address } from "./address.ts";
import {
  approvalsLine,
  authoritiesLine,
  enrolmentLine,
  eventsLine,
  issueLine,
  manualLine,
  operationsLine,
  peopleLine,
  revokeLine,
} from "./lines.ts";
import type { PageProps } from "./page.ts";

export interface PageRow {
  /** The first segment of the address; empty is the first page. */
  readonly segment: string;
  readonly name: string;
  /** The key behind `g`. */
  readonly key?: string;
  /** The command line that shows what the page shows. */
  readonly pkid: (address: Address) => string;
  readonly load: () => Promise<FunctionComponent<PageProps>>;
}

// biome-ignore format: the table is read by column.
export const pages: readonly PageRow[] = [
  { segment: "",             name: "Overview",      key: "o", pkid: () => "pkid monitor expiring",   load: async () => (await import("#web/pages/overview.tsx")).OverviewPage },
  { segment: "certificates", name: "Certificates",  key: "i", pkid: certificatesLine,                load: async () => (await import("#web/pages/certificates.tsx")).CertificatesPage },
  { segment: "issue",        name: "Issue",         key: "n", pkid: issueLine,                       load: async () => (await import("#web/pages/issue.tsx")).IssuePage },
  { segment: "authorities",  name: "Authorities",   key: "c", pkid: authoritiesLine,                 load: async () => (await import("#web/pages/authorities.tsx")).AuthoritiesPage },
  { segment: "revoke",       name: "Revoke many",   key: "r", pkid: revokeLine,                      load: async () => (await import("#web/pages/revoke.tsx")).RevokePage },
  { segment: "approvals",    name: "Approvals",     key: "a", pkid: approvalsLine,                   load: async () => (await import("#web/pages/approvals.tsx")).ApprovalsPage },
  { segment: "events",       name: "Events",        key: "e", pkid: eventsLine,                      load: async () => (await import("#web/pages/events.tsx")).EventsPage },
  { segment: "enrolment",    name: "Enrolment",     key: "m", pkid: enrolmentLine,                   load: async () => (await import("#web/pages/enrolment.tsx")).EnrolmentPage },
  { segment: "people",       name: "People",        key: "p", pkid: peopleLine,                      load: async () => (await import("#web/pages/people.tsx")).PeoplePage },
  { segment: "operations",   name: "Operations",    key: "s", pkid: operationsLine,                  load: async () => (await import("#web/pages/operations.tsx")).OperationsPage },
  { segment: "manual",       name: "Documentation", key: "d", pkid: manualLine,                      load: async () => (await import("#web/pages/documentation.tsx")).DocumentationPage },
];

/** The page an address means; undefined for an address that is none. */
export const pageOf = ({ path: [segment = ""] }: Address): PageRow | undefined =>
  pages.find((page) => page.segment === segment);
