/** Certificate authorities: the tree of them, and one with everything about it. */

import { AuthorityPage } from "#web/pages/authorities/authority.tsx";
import { TreePage } from "#web/pages/authorities/tree.tsx";

interface AuthoritiesPageProps {
  /** `/console/authorities/<id>`; none for the tree. */
  readonly rest: readonly string[];
}

/** The page of the address. */
export const AuthoritiesPage = ({ rest: [id] }: AuthoritiesPageProps) =>
  id === undefined ? <TreePage /> : <AuthorityPage key={id} id={id} />;
