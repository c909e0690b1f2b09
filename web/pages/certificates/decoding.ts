/** What a page reads out of a certificate, with parsers that are loaded when they are needed. */

import { useEffect, useState } from "preact/hooks";

/**
 * What `read` gives of the PEM, `otherwise` where it fails, and undefined until then. Both are the
 * same function each time.
 */
export function useDecoded<T>(
  pem: string,
  read: (pem: string) => Promise<T>,
  otherwise: () => T,
): T | undefined {
  const [decoded, setDecoded] = useState<{ readonly value: T }>();
  useEffect(() => {
    let current = true;
    read(pem).then(
      (value) => current && setDecoded({ value }),
      // The octets are nothing that can be read, or the page was upgraded and its parser is gone.
      () => current && setDecoded({ value: otherwise() }),
    );
    return () => {
      current = false;
    };
  }, [pem, read, otherwise]);
  return decoded?.value;
}
