/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const AuthoritiesPage = () => <Heading name="Authorities" />;
