/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const OverviewPage = () => <Heading name="Overview" />;
