/** What one check of preflight found, and how several findings become one. */

/** What comes of a check. */
export const findingStatuses = ["pass", "warn", "fail", "skip"] as const;
export type FindingStatus = (typeof findingStatuses)[number];

export interface Finding {
  readonly status: FindingStatus;
  /** One or more sentences; never a secret. */
  readonly detail: string;
}

export const passed = (detail: string): Finding => ({ status: "pass", detail });
export const warned = (detail: string): Finding => ({ status: "warn", detail });
export const failed = (detail: string): Finding => ({ status: "fail", detail });
/** Says why nothing was looked at. */
export const skipped = (detail: string): Finding => ({ status: "skip", detail });

/**
 * The worst of the findings with everything that is wrong, the worst first; `whenGood` when nothing
 * is. At most ten are told, for a thousand certificates may have the same trouble.
 */
export function gathered(findings: readonly Finding[], whenGood: string): Finding {
  const wrong = ["fail", "warn"].flatMap((status) =>
    findings.filter((one) => one.status === status),
  );
  const [worst] = wrong;
  if (worst === undefined) return passed(whenGood);
  const told = wrong.slice(0, toldMax).map(({ detail }) => detail);
  const more = wrong.length > toldMax ? [`And ${wrong.length - toldMax} more.`] : [];
  return { status: worst.status, detail: [...told, ...more].join(" ") };
}

const toldMax = 10;
