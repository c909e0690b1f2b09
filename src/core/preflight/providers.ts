/** What preflight says of the identity providers and directories people and API callers come by. */

import { type Instant, secondsPerDay, timestamp } from "#core/time.ts";
import type { ParsedCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";

import { failed, type Finding, gathered, skipped, warned } from "./finding.ts";

/** One provider as it answered from here. */
export type ProviderFacts =
  | { readonly issuer: string; readonly fault: string }
  | {
      readonly issuer: string;
      /** Keys that can verify a signature. */
      readonly keys: number;
      /**
       * Seconds the provider's clock is ahead of ours; undefined when it does not tell its time.
       */
      readonly aheadSeconds: number | undefined;
      /** Why it would send people back who are to log in. */
      readonly refusal?: string | undefined;
      /** Scopes that are asked for and that it does not list. */
      readonly unlisted?: readonly string[];
    };

/**
 * Reached, named as configured, with keys, and at our time: tokens carry times that both sides must
 * mean.
 */
export function judgeProviders(providers: readonly ProviderFacts[]): Finding {
  if (providers.length === 0) return skipped("No OpenID provider is configured.");
  const findings = providers.flatMap((one) => {
    if ("fault" in one) return [failed(`${one.issuer}: ${one.fault}.`)];
    if (one.keys === 0) return [failed(`${one.issuer} publishes no key that can be used.`)];
    if (one.refusal !== undefined)
      return [failed(`${one.issuer} lets nobody log in: ${one.refusal}.`)];
    const { unlisted = [] } = one;
    if (unlisted.length > 0) {
      return [
        warned(
          `${one.issuer} does not list the scopes ${unlisted.join(", ")} and may refuse them.`,
        ),
      ];
    }
    const apart = Math.round(Math.abs(one.aheadSeconds ?? 0));
    return apart > apartSecondsMax ? [warned(`The clock of ${one.issuer} is ${apart} s off.`)] : [];
  });
  const issuers = providers.map(({ issuer }) => issuer).join(", ");
  return gathered(findings, `${issuers} answers as it is configured.`);
}

/** One server of the directory as it answered from here; `server` is its address. */
export type DirectoryFacts =
  | { readonly server: string; readonly fault: string }
  | {
      readonly server: string;
      /** Days its certificate is still good for; undefined without TLS. */
      readonly certificateDays: number | undefined;
    };

/**
 * Reached, encrypted and verified, and with the service account accepted: each server, for any may
 * be needed.
 */
export function judgeDirectory(servers: readonly DirectoryFacts[]): Finding {
  if (servers.length === 0) return skipped("No directory is configured.");
  const findings = servers.flatMap((one) => {
    if ("fault" in one) return [failed(`${one.server}: ${one.fault}.`)];
    const days = one.certificateDays ?? certificateDaysMin;
    const left = Math.max(0, Math.floor(days));
    return days < certificateDaysMin
      ? [warned(`The certificate of ${one.server} ends in ${left} days.`)]
      : [];
  });
  const all = servers.map(({ server }) => server).join(", ");
  return gathered(findings, `${all} answers as it is configured.`);
}

/** `auth.mtls`: every CA of the file, for a client is below any of them. */
export function judgeClientCas(
  file: string,
  cas: readonly Pick<ParsedCertificate, "subject" | "notBefore" | "notAfter">[],
  limits: { readonly now: Instant; readonly warnDays: number },
): Finding {
  const { now, warnDays } = limits;
  const findings = cas.flatMap(({ subject, notBefore, notAfter }) => {
    const who = `${file}: ${nameText(subject) || "a CA without name"}`;
    if (now > notAfter) return [failed(`${who} expired ${timestamp(notAfter)}.`)];
    if (now < notBefore) return [failed(`${who} begins ${timestamp(notBefore)}.`)];
    const soon = notAfter - now < warnDays * secondsPerDay * 1000;
    return soon ? [warned(`${who} expires ${timestamp(notAfter)}.`)] : [];
  });
  return gathered(
    findings,
    `${file} holds ${cas.length} CAs that live for ${warnDays} days and more.`,
  );
}

const apartSecondsMax = 30;
const certificateDaysMin = 14;
