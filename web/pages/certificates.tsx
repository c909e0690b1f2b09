/** Not drawn yet. */

import { Heading } from "#web/ui/heading.tsx";

export const CertificatesPage = () => <Heading name="Certificates" />;
