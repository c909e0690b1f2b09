/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const EventsPage = () => <Heading name="Events" />;
