/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const OperationsPage = () => <Heading name="Operations" />;
