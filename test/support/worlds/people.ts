/** People as an identity provider of the tests vouches for them. */

import type { Person } from "#core/access/person.ts";

/** Somebody of the provider, with or without a verified address. */
export const personNamed = (subject: string, address = ""): Person => ({
  subject,
  voucher: "oidc",
  issuer: "https://id.x.test",
  address,
});
