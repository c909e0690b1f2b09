/** A root kept by the openssl command line: what an organization has before it has pkid. */

import { decodePem } from "#core/asn1/pem.ts";
import { addSeconds } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { openssl, scratchDirectory } from "#test/support/encodings/openssl.ts";

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
      ...words("req -x509 -days 3650 -subj"),
      subject,
      ...newKey(file(`${name}.key`)),
      ...words("-addext basicConstraints=critical,CA:TRUE"),
      ...words("-addext keyUsage=critical,keyCertSign,cRLSign -out"),
      file(`${name}.pem`),
      ...more,
    ]);
  const signedBy = (issuer: string, csr: string, out: string, wanted: ExternalCertificate) => {
    const lines = [
      `basicConstraints=${wanted.basicConstraints ?? "critical,CA:TRUE"}`,
      ...(wanted.keyUsage === "" ? [] : [`keyUsage=${wanted.keyUsage ?? everyUsage}`]),
      "subjectKeyIdentifier=hash",
      "authorityKeyIdentifier=keyid",
    ];
    const subject = wanted.subject === undefined ? [] : ["-subj", wanted.subject];
    const extensions = scratch.write("extensions", lines.join("\n"));
    const by = ["-CA", file(`${issuer}.pem`), "-CAkey", file(`${issuer}.key`), "-CAcreateserial"];
    const files = ["-extfile", extensions, "-in", csr, "-out", file(out)];
    openssl(["x509", "-req", "-days", String(wanted.days ?? 1000), ...by, ...subject, ...files]);
    return scratch.read(out).toString();
  };
  selfSigned("root", "/C=DE/O=Elsewhere/CN=External root");
  const rootPem = scratch.read("root.pem").toString();
  const root = decodePem(rootPem, ["CERTIFICATE"]) ?? new Uint8Array();
  const request = ["-subj", "/CN=External upper", "-out", file("upper.csr")];
  openssl(["req", "-new", ...newKey(file("upper.key")), ...request]);
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

const words = (line: string): readonly string[] => line.split(" ");

const newKey = (file: string): readonly string[] => [
  ...words("-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout"),
  file,
];

const everyUsage = "critical,keyCertSign,cRLSign,digitalSignature";
