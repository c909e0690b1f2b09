/** People in the database: each part of a person has a column of its own. */

import type { Person } from "#core/access/person.ts";

import type { Kit } from "./kit.ts";

/**
 * The columns of the person that `role` names, e.g. `maker` in `maker_subject`. Rows older than
 * them are `unknown`.
 */
export const personColumns = <R extends string>(k: Kit, role: R) => ({
  subject: k.text(`${role}_subject`).notNull().default(""),
  voucher: k.text(`${role}_voucher`).notNull().default("unknown"),
  issuer: k.text(`${role}_issuer`).notNull().default(""),
  address: k.text(`${role}_address`).notNull().default(""),
});

/** The person that columns of `personColumns` hold; only people were put into them. */
export const personAt = (
  columns: {
    readonly [part in keyof Person]: string;
  },
): Person => columns as Person; // See above.
