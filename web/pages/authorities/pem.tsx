/** PEM to look at, to select and to copy. */

interface PemProps {
  /** What it is: "Certificate". */
  readonly name: string;
  readonly text: string;
}

/** A field that cannot be changed, so that keys reach and scroll it. */
export const Pem = ({ name, text }: PemProps) => (
  <textarea readOnly spellcheck={false} aria-label={`${name} in PEM`} value={text} />
);
