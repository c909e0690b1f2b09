/** Says in words why a request found no server; the runtime's own texts speak to programmers. */

/** The reason as the end of a sentence, with the code of what is not known better. */
export function networkFault(error: unknown): string {
  if (error instanceof Error && error.name === "TimeoutError") return "there was no answer in time";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return reasons.get(code) ?? `the connection failed${code === "" ? "" : ` (${code})`}`;
}

/**
 * Why a certificate is not trusted, by the code of the runtime; the code itself where it is not
 * known better.
 */
export const trustFault = (code: string): string => reasons.get(code) ?? code;

const untrusted =
  "its certificate is signed by a CA that is not trusted here; name the CA with --ca-file";

const reasons: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "nobody listens there"],
  ["ConnectionRefused", "nobody listens there"],
  ["ENOTFOUND", "there is no such host"],
  ["EAI_AGAIN", "the name of the host cannot be looked up"],
  ["EHOSTUNREACH", "there is no way to the host"],
  ["ENETUNREACH", "there is no way to the network"],
  ["ETIMEDOUT", "there was no answer in time"],
  ["ENOENT", "there is no such socket"],
  ["ECONNRESET", "it closed the connection; is the address https where it should be?"],
  ["ConnectionClosed", "it closed the connection"],
  ["EPROTO", "it does not speak TLS on this port"],
  ["UnexpectedRedirect", "it answers with a redirect, which is not followed"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", untrusted],
  ["SELF_SIGNED_CERT_IN_CHAIN", untrusted],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", untrusted],
  ["CERT_HAS_EXPIRED", "its certificate has expired"],
  ["CERT_NOT_YET_VALID", "its certificate is not valid yet; is the clock right?"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another name than the one asked"],
]);
