/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const RevokePage = () => <Heading name="Revoke" />;
