/** A serving certificate with the root above it, for tests of listeners. */

import { encodePem } from "#core/asn1/pem.ts";
import type { TlsMaterial } from "#http/port.ts";

import { OutsideCa } from "./client-certificates.ts";

/** P-256, for this name and 127.0.0.1. */
export function servingMaterialFor(name: string): TlsMaterial {
  const root = OutsideCa.root("Serving");
  const { chain, key } = root.client({
    subject: [{ type: "CN", value: name }],
    usages: ["serverAuth"],
    sans: [
      { kind: "dns", value: name },
      { kind: "ip", value: "127.0.0.1" },
    ],
  });
  return {
    certificate: chain.map((der) => encodePem("CERTIFICATE", der)).join("") + root.pem,
    key: String(key.privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}
