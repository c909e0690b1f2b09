/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const IssuePage = () => <Heading name="Issue" />;
