/** A stub's callers by their certificates: the digest of the certificate is the subject. */

import { sha256Hex } from "#core/crypto.ts";
import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { clientPath, parseAnchors } from "#core/x509/client-path.ts";
import type { Authenticate, Authenticated } from "#domain/access/authenticate.ts";
import { personNamed } from "#test/support/worlds/people.ts";

import type { ClientCertificate } from "./client-certificates.ts";

/** Lets in where a path leads to one of these, PEM each; TLS has not looked. */
export function below(authorities: readonly string[]): Authenticate {
  const anchors = authorities.flatMap((pem) => parseAnchors(pem) ?? []);
  return async ({ certificate }) => {
    const shown = certificate?.chain.map(parseCertificate) ?? [];
    const path = clientPath(shown, { anchors, now: instant(Date.now()), sound: () => true });
    return path?.[0] && callerOf(path[0].der);
  };
}

/** What the stub calls this client. */
export const subjectOf = ({ chain: [der = new Uint8Array()] }: ClientCertificate): string =>
  sha256Hex(der);

/** The subjects in answers of /api/me. */
export const subjects = (answers: string): readonly (string | undefined)[] =>
  [...answers.matchAll(/"subject":"([^"]*)"/g)].map(([, subject]) => subject);

function callerOf(der: Uint8Array): Authenticated {
  const subject = sha256Hex(der);
  return {
    principal: {
      subject,
      person: personNamed(subject),
      isRoot: false,
      roles: ["admin"],
      tenantRoles: {},
      groups: [],
      mechanism: "mtls",
    },
  };
}
