/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const DocumentationPage = () => <Heading name="Documentation" />;
