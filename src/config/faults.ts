/** What is wrong with a configuration, and where: every fault of one run, in whole sentences. */

import type { Place, WrongValue } from "#core/shape.ts";

/** One thing wrong with the configuration: the path of the key and a sentence. */
export interface Fault {
  readonly path: string;
  readonly sentence: string;
}

/** A place whose faults are collected, so that one run reports all of them (CFG-4). */
export function placeIn(faults: Fault[], path: string): Place {
  const tell = (at: string, wrong: WrongValue) => {
    faults.push({ path: at, sentence: sentenceOf(wrong) });
  };
  return { path, tell };
}

/** What is wrong with a value, said to who writes YAML. */
export function sentenceOf({ fact, message }: WrongValue): string {
  switch (fact?.is) {
    case "not_text":
      return "Must be text; put it in quotes.";
    case "not_whole":
      return "Must be a whole number.";
    case "not_mapping":
      return "Must be a mapping of names to values.";
    case "empty":
      return "Must not be empty.";
    case "below":
      return `Must be at least ${fact.bound}.`;
    case "above":
      return `Must be at most ${fact.bound}.`;
    case undefined:
      // What only the configuration says is a sentence already.
      return message.endsWith(".")
        ? message
        : `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  }
}
