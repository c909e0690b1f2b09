/** Lends Bun's node:crypto to @peculiar/x509, the library the encodings are held against. */
import "reflect-metadata";

import * as x509 from "@peculiar/x509";

x509.cryptoProvider.set(globalThis.crypto);

export { x509 };
