/** Judges what the profiles leave out of the gates, and who may log in how. */

import type { Profile } from "#core/policy/profile.ts";

import { failed, type Finding, gathered, passed, skipped, warned } from "./finding.ts";

/** A gate that is off or only warns; in a public profile that is a failure. */
export function judgeGates(profiles: readonly Profile[]): Finding {
  const findings = profiles.flatMap((profile) => {
    const { off, soft } = relaxed(profile);
    const told = (what: readonly string[], how: string) =>
      `${profile.name}: ${what.join(", ")} ${how}.`;
    return [
      ...(off.length === 0 ? [] : [(profile.lint.public ? failed : warned)(told(off, "off"))]),
      ...(soft.length === 0 ? [] : [warned(told(soft, "only warn"))]),
    ];
  });
  return gathered(findings, `Every gate of ${profiles.length} profiles is on.`);
}

/** CAA is asked for by few profiles; it counts where relying parties count on it. */
function relaxed({ lint, keyChecks, caa, ct }: Profile) {
  const softened = Object.entries(lint.overrides).filter(([, mode]) => mode === "warn");
  return {
    off: [
      ...(lint.disabled ? ["lint"] : []),
      ...(keyChecks.disabled ? ["key checks"] : []),
      ...(lint.public && caa.mode === "off" ? ["caa"] : []),
    ],
    soft: [
      ...(!lint.disabled && lint.mode === "warn" ? ["lint"] : []),
      ...softened.map(([rule]) => `lint ${rule}`),
      ...(!keyChecks.disabled && keyChecks.mode === "warn" ? ["key checks"] : []),
      ...(caa.mode === "permissive" ? ["caa"] : []),
      ...(ct?.enabled === true && ct.failOpen ? ["transparency"] : []),
    ],
  };
}

/** Whether the name that CAA records must carry is known where they are asked. */
export function judgeCaaIdentifier(
  profiles: readonly Profile[],
  identifier: string | undefined,
): Finding {
  const asking = profiles.filter(({ caa }) => caa.mode !== "off");
  const findings = asking.flatMap(({ name, caa, lint }) => {
    const known = (caa.identifier ?? identifier) !== undefined;
    if (caa.mode === "enforce") {
      return known ? [] : [failed(`${name} enforces CAA without an identifier.`)];
    }
    return lint.public ? [warned(`${name} is public and does not enforce CAA.`)] : [];
  });
  if (asking.length === 0) return skipped("No profile looks at CAA.");
  return gathered(findings, `${asking.length} profiles look at CAA.`);
}

/** What is known about the ways to administer. */
export interface RootFacts {
  readonly basicAllowed: boolean;
  /**
   * Ways in for administrators other than root that work now: tokens, and entries of the
   * configuration.
   */
  readonly otherAdmins: number;
  /** True when pkid made the password up at the first start. */
  readonly passwordGenerated: boolean;
  /** Since the first start. */
  readonly ageDays: number;
}

/** The break-glass account: not used when there are others, and not left as it came. */
export function judgeRoot(facts: RootFacts): Finding {
  const { basicAllowed, otherAdmins, passwordGenerated, ageDays } = facts;
  if (otherAdmins === 0 && passwordGenerated && ageDays > generatedDaysMax) {
    const days = Math.floor(ageDays);
    return failed(
      `Root is the only administrator, with the generated password of ${days} days ago.`,
    );
  }
  if (basicAllowed && otherAdmins > 0) {
    return warned(`Root may use Basic, and ${otherAdmins} other ways in for administrators work.`);
  }
  return passed(basicAllowed ? "Root is the only administrator." : "Root may not use Basic.");
}

/** Switches that let secrets travel in clear; `publicHost` is the host of `server.public_url`. */
export function judgeCleartext(facts: {
  readonly cookies: boolean;
  readonly listener: boolean;
  /** Passwords go to the directory over a connection without TLS. */
  readonly directory?: boolean;
  readonly publicHost: string | undefined;
}): Finding {
  const { cookies, listener, directory = false, publicHost } = facts;
  const told = [
    ...(cookies ? ["Cookies are sent without Secure (auth.session.insecure)."] : []),
    ...(listener ? ["The main listener speaks cleartext (PKID_ALLOW_INSECURE_HTTP)."] : []),
    ...(directory ? ["Passwords may go to the directory in clear (auth.ldap)."] : []),
  ].join(" ");
  if (told === "") return passed("Cookies are secure, and the main listener speaks TLS.");
  const outside = publicHost !== undefined && !isLoopback(publicHost);
  return outside ? failed(`${told} ${publicHost} is not this machine.`) : warned(told);
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);

const generatedDaysMax = 30;
