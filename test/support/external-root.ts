/** A root kept by the openssl command line: what an organization has before it has pkid. */

import { decodePem } from "#core/asn1/pem.ts";
import { addSeconds } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { openssl, scratchDirectory } from "./openssl.ts";

/** What the certificate shall say; the defaults are those of a sensible CA. */
export interface ExternalCertificate {
  readonly csrPem: string;
  readonly basicConstraints?: string | undefined;
  readonly keyUsage?: string | undefined;
  readonly days?: number;
  /** `/CN=…` when the other side changes the name. */
  readonly subject?: string;
}

/**
 * Makes a root, and an intermediate below it that certifies what it is given; `using` removes its
 * files.
 */
export function externalRoot() {
  const scratch = scratchDirectory();
  const file = (name: string) => `${scratch.path}/${name}`;
  const selfSigned = (name: string, subject: string, more: readonly string[] = []) =>
    openssl([
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      file(`${name}.key`),
      "-out",
      file(`${name}.pem`),
      "-subj",
      subject,
      "-days",
      "3650",
      "-addext",
      "basicConstraints=critical,CA:TRUE",
      "-addext",
      "keyUsage=critical,keyCertSign,cRLSign",
      ...more,
    ]);
  const signedBy = (issuer: string, csr: string, out: string, wanted: ExternalCertificate) => {
    const lines = [
      `basicConstraints=${wanted.basicConstraints ?? "critical,CA:TRUE"}`,
      ...(wanted.keyUsage === "" ? [] : [`keyUsage=${wanted.keyUsage ?? everyUsage}`]),
      "subjectKeyIdentifier=hash",
      "authorityKeyIdentifier=keyid",
    ];
    openssl([
      "x509",
      "-req",
      "-in",
      csr,
      "-CA",
      file(`${issuer}.pem`),
      "-CAkey",
      file(`${issuer}.key`),
      "-CAcreateserial",
      "-days",
      String(wanted.days ?? 1000),
      ...(wanted.subject === undefined ? [] : ["-subj", wanted.subject]),
      "-extfile",
      scratch.write("extensions", lines.join("\n")),
      "-out",
      file(out),
    ]);
    return scratch.read(out).toString();
  };
  selfSigned("root", "/C=DE/O=Elsewhere/CN=External root");
  const rootPem = scratch.read("root.pem").toString();
  const root = decodePem(rootPem, ["CERTIFICATE"]) ?? new Uint8Array();
  openssl([
    "req",
    "-new",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    file("upper.key"),
    "-out",
    file("upper.csr"),
    "-subj",
    "/CN=External upper",
  ]);
  const upperPem = signedBy("root", file("upper.csr"), "upper.pem", { csrPem: "" });
  return {
    rootPem,
    upperPem,
    root,
    /**
     * A moment at which everything it certifies is valid; openssl knows no clock but the machine's.
     */
    soon: addSeconds(parseCertificate(root).notBefore, 3600),
    /** The certificate, in PEM, signed by the intermediate, or by the root itself. */
    certify: (wanted: ExternalCertificate, issuer: "root" | "upper" = "upper") =>
      signedBy(issuer, scratch.write("asked.csr", wanted.csrPem), "asked.pem", wanted),
    /** A self-signed CA with a key of its own. */
    stranger: (subject: string): string => {
      selfSigned("stranger", subject);
      return scratch.read("stranger.pem").toString();
    },
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

const everyUsage = "critical,keyCertSign,cRLSign,digitalSignature";
