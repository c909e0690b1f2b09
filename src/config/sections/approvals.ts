/** Settings of approval by other people (four eyes). */

import { count, field, flag, listKind, map } from "#config/fields.ts";
import { derived, section, type Values } from "#config/section.ts";
import { integer } from "#core/shape.ts";
import { textual } from "#core/shape/texts.ts";

/** More people than any key ceremony gathers. */
const peopleMax = 100;

const members = {
  enabled: flag("Let guarded operations wait until other people have approved them.", false),
  default_threshold: field(
    "Approvals besides the maker for classes that have no threshold of their own; 0 guards nothing.",
    integer(0, peopleMax),
    derived("1, or 0 when `approvals.thresholds` is given", (of) =>
      Object.keys(of("approvals.thresholds") ?? {}).length === 0 ? 1 : 0,
    ),
  ),
  thresholds: map(
    "Approvals by class: ca.create, ca.rotate, ca.retire, revocation.bulk, kek.rotate, token.create, cert.issue.",
    integer(0, peopleMax),
  ),
  operators: map(
    "By class the subjects, or verified e-mail addresses, whose approvals alone count.",
    listKind(textual("subject", "alice", { max: 256 })),
  ),
  request_ttl_hours: count("Hours a request waits before it expires.", 72, { min: 1, max: 8760 }),
} as const;

/** The keys under `approvals`. */
export const approvals = section("Approval by other people", members);
export type ApprovalsSetting = Values<typeof members>;
