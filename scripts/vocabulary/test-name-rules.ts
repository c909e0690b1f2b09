/** Rule on test names: a full sentence with a subject that is part of the product. */

import {
  isAuxiliary,
  isDeterminer,
  isNounOrVerb,
  isPastParticiple,
  isPresentParticiple,
  isThirdPersonVerb,
  isBaseVerb,
  isPreposition,
} from "./grammar.ts";

/**
 * Checks the name of a test.
 *
 * @returns the reason if the name has no subject or verb; undefined for a sentence, and for
 *   names that consist of placeholders
 */
export function checkTestName(name: string): string | undefined {
  const sentence = stripLabels(name);
  const tokens = sentence.split(/\s+/).filter((token) => token !== "");
  const [opening = "", second = ""] = tokens.map(toLookup);
  if (tokens.length < 2 || sentence.replace(placeholder, "").split(/\w+/).length < 3) {
    return undefined;
  }
  // A capital, code or a placeholder opens a proper name, which is a subject.
  if (/^(a|the) (first|second|third|last|next|same|other) (time|one)\b/.test(sentence)) {
    return "a subject: a part of the product";
  }
  const isName = !/^[a-z]/.test(tokens[0] ?? "");
  const reason = isName ? undefined : checkOpening(opening, second, tokens[0] ?? "");
  if (reason !== undefined) return reason;
  return hasVerb(tokens) || mayHaveVerb(tokens) ? undefined : "a sentence with a verb";
}

/** Removes rule ids, clauses and one-word labels in front of the sentence. */
const stripLabels = (name: string): string =>
  name.replace(/^((RFC|BR|FIPS|NIST|X\.\d+) [^:]{1,40}: |[\w.…%/-]+(, [A-Z]+-?\d+)*: )+/, "");

const placeholder = /%[a-z]|…|\$\w+/g;

const toLookup = (token: string): string => token.toLowerCase().replace(/[^a-z'-]/g, "");

function checkOpening(opening: string, second: string, token: string): string | undefined {
  const reason = "a subject: a part of the product";
  if (isAuxiliary(opening) || isThirdPersonVerb(opening)) return `${reason} before "${opening}"`;
  const takesObject = isDeterminer(second) && !/^(all|both|each|it|he)$/.test(second);
  if ((isNounOrVerb(opening) || isBaseVerb(opening)) && takesObject) {
    return `${reason} before "${opening}"`;
  }
  if (isPreposition(opening) || nonSubjects.has(opening)) return `${reason} before "${opening}"`;
  if (opening === "one" && (isAuxiliary(second) || /^(that|who|of|which|whose)$/.test(second))) {
    return `${reason} instead of "one"`;
  }
  const isListed = token.endsWith(",") && !isPastParticiple(second);
  const isAlone = isListed || isPreposition(second) || afterParticiple.has(second);
  const isParticiple =
    (isPastParticiple(opening) && isAlone) ||
    (isPresentParticiple(opening) && (isAlone || isDeterminer(second)));
  return isParticiple ? `${reason} before "${opening}"` : undefined;
}

/** Conjunctions, pronouns and adverbs: none of them is a part of the product. */
const nonSubjects: ReadonlySet<string> = new Set(
  (
    "afterwards again also although always and anybody because but else everybody everything he " +
    "how however if it meanwhile never nobody none nor nothing once or she so somebody than that " +
    "then there they those though twice unless until what whatever when where wherever whether " +
    "which while who whoever whom whose why"
  ).split(" "),
);

const afterParticiple: ReadonlySet<string> = new Set(
  "again also anew but if not once only so than that twice unless until when where while".split(
    " ",
  ),
);

/** Checks for a placeholder as subject, and for a plural that an unlisted verb may follow. */
function mayHaveVerb([first = "", second = ""]: readonly string[]): boolean {
  if (/^(%[a-z]|…|\$)/.test(first)) return true;
  const next = toLookup(second);
  const isPlural = /[a-rt-z]s$/.test(first) && !isNounOrVerb(toLookup(first));
  return isPlural && next !== "" && next !== "and" && next !== "or" && !isPreposition(next);
}

/** Checks for a determiner that cannot be a subject itself: a noun follows it. */
const isArticle = (string: string): boolean =>
  /^(a|an|the|no|every|another|its|their|two|three)$/.test(string);

/** Checks for a finite verb after the first token; unclear forms count as verbs. */
const hasVerb = (tokens: readonly string[]): boolean =>
  tokens.some((token, index) => {
    const before = tokens[index - 1];
    if (before === undefined) return false;
    const string = toLookup(token);
    if (isAuxiliary(string) || isThirdPersonVerb(string)) return true;
    const previous = toLookup(before);
    if (isArticle(previous) || isPreposition(previous) || /\d/.test(before)) return false;
    const isForm = isNounOrVerb(string) || isBaseVerb(string);
    return isForm || (/[a-rt-z]s$/.test(string) && !/(us|is|ous)$/.test(string));
  });
