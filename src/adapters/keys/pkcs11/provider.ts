/** The PKCS#11 provider, inside the signer. */

import { LaunchFault } from "../requests.ts";
import type { Pkcs11Settings } from "../settings.ts";
import type { SigningProvider } from "../signer/provider.ts";

/** Opens it. */
export async function openPkcs11Provider(
  _settings: Pkcs11Settings,
  _deps: { readonly workerUrl: string; readonly restart: (reason: string) => void },
): Promise<SigningProvider> {
  throw new LaunchFault("configuration", "This build has no PKCS#11 addon.");
}
