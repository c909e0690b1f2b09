/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const PeoplePage = () => <Heading name="People" />;
