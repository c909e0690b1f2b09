/** A field for requests or certificates: what is anything else is said, and kept in the page. */

import { useMemo, useRef, useState } from "preact/hooks";
import { givenIn, givenInFile, type Wanted } from "#web/x509/given.ts";
import { useLastAct } from "./last-act.ts";

export interface GivenText {
  /** What is wrong with the text, or with the file that was chosen last. */
  readonly fault: string | undefined;
  readonly type: (text: string) => void;
  /**
   * Puts what a file holds into the field; one that is refused leaves there what is there, as does
   * one that is still read when something else is typed or chosen.
   */
  readonly take: (file: File) => void;
}

/** For the text of a field, typed or out of a file. */
export function useGiven(
  text: string,
  wanted: Wanted,
  onChange: (text: string) => void,
): GivenText {
  const [fileFault, setFileFault] = useState<string>();
  const given = useMemo(() => givenIn(text, wanted), [text, wanted]);
  const begin = useLastAct();
  // Of the form as it is when the file has been read.
  const latest = useRef(onChange);
  latest.current = onChange;
  const type = (typed: string) => {
    begin();
    setFileFault(undefined);
    latest.current(typed);
  };
  const take = async (file: File) => {
    const isLast = begin();
    const read = await givenInFile(file, wanted);
    if (!isLast()) return;
    if (read.kind === "taken") type(read.pem);
    else if (read.kind === "refused") setFileFault(read.sentence);
  };
  return {
    fault: fileFault ?? (given.kind === "refused" ? given.sentence : undefined),
    type,
    take: (file) => void take(file),
  };
}

/** What may be sent of a field: what was parsed, encoded anew; empty where nothing was. */
export function sendable(text: string, wanted: Wanted): string {
  const given = givenIn(text, wanted);
  return given.kind === "taken" ? given.pem : "";
}

/** True for a text that says something and is not what the field is for. */
export const isWithheld = (text: string, wanted: Wanted): boolean =>
  givenIn(text, wanted).kind === "refused";
