/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const ApprovalsPage = () => <Heading name="Approvals" />;
