/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const EnrolmentPage = () => <Heading name="Enrolment" />;
