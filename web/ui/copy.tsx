/** A text that one click copies, and serials and fingerprints in groups that eyes can follow. */

import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CopySign } from "./icon.tsx";
import { serialHex } from "./plain.ts";

interface CopyProps {
  /** What is copied. */
  readonly text: string;
  /** What it is, for those who do not see it: "serial", "request id". */
  readonly name: string;
  /** What is shown; the text itself when left out. */
  readonly children?: ComponentChildren;
}

/** Shows the text and copies it when clicked. */
export function Copy({ text, name, children }: CopyProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => void copyText(text).then(setCopied);
  return (
    <button type="button" class="copy mono" title={`Copy ${name}`} onClick={copy}>
      {children ?? text}
      <span class="sign" aria-hidden="true">
        {copied ? "✓" : <CopySign />}
      </span>
      <span class="unseen" role="status">
        {copied ? `${name} copied` : ""}
      </span>
      <span class="unseen">, copy {name}</span>
    </button>
  );
}

/** Serial in hexadecimal, which a click copies. */
export const Serial = ({ serial, short = false }: { serial: string; short?: boolean }) => {
  const groups = grouped(serialHex(serial));
  if (short) return <span class="mono">{groups.slice(0, 9)}…</span>;
  return (
    <Copy text={unambiguousHex(serial)} name="serial">
      {groups}
    </Copy>
  );
};

/** Hex without a letter gets `0x`: digits alone would be read as decimal. */
function unambiguousHex(serial: string): string {
  const hex = serialHex(serial);
  return /[a-f]/.test(hex) ? hex : `0x${hex}`;
}

/** A fingerprint or digest in groups: hexadecimal, or in base64 after the name of its algorithm. */
export const Fingerprint = ({ text, name = "fingerprint" }: { text: string; name?: string }) => (
  <Copy text={text} name={name}>
    {/^[0-9a-f:]+$/i.test(text) ? grouped(text.replaceAll(":", "")) : <Groups of={text} />}
  </Copy>
);

/** The beginning of the fingerprint of a key, as a list shows it. */
export const ShortFingerprint = ({ text }: { readonly text: string }) => (
  <span class="mono">
    <Groups of={text.slice(0, 19)} />…
  </span>
);

/**
 * Groups for the eye alone: other tools write base64 without spaces, so whoever selects it or has
 * it read gets it unbroken.
 */
const Groups = ({ of }: { readonly of: string }) => (
  <span class="groups">
    {(of.match(/^SHA256:|.{1,4}/g) ?? []).map((part, at) => (
      <Fragment key={`${at} ${part}`}>
        <span>{part}</span>
        <wbr />
      </Fragment>
    ))}
  </span>
);

const grouped = (hex: string): string => hex.replace(/(.{4})(?=.)/g, "$1 ");

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page that is not in front may not write there; the text can be selected by hand.
    return false;
  }
}
