/** Rules on comments: opening of a doc comment, number and length of its sentences. */

import type { Comment } from "./comments.ts";
import type { Hit, RuleName } from "./hit.ts";
import { countWords, findLine, splitSentences, type Passage } from "./passage.ts";

/** Collects the violations in the comments of one file. */
export function collectCommentHits(path: string, comments: readonly Comment[]): Hit[] {
  const hits: Hit[] = [];
  for (const { isDoc, description, tags } of comments) {
    if (description !== undefined) {
      if (isDoc) hits.push(...collectDocHits(path, description));
      hits.push(...collectSentenceHits(path, description));
    }
    for (const tag of tags) hits.push(...collectSentenceHits(path, tag));
  }
  return hits;
}

function collectDocHits(path: string, description: Passage): Hit[] {
  const hits: Hit[] = [];
  const line = findLine(description, 0);
  const add = (rule: RuleName, found: string, instead: string): void => {
    hits.push({ rule, path, line, found, instead });
  };
  const opening = openings.exec(description.text)?.[0];
  if (opening !== undefined) add("doc comment: opening", opening, "a third-person verb or a noun");
  const sentences = splitSentences(description.text).filter(({ isListItem }) => !isListItem);
  if (sentences.length > sentencesMax) {
    add(
      "doc comment: over 3 sentences",
      `${sentences.length} sentences`,
      "at most 3 before the tags",
    );
  }
  return hits;
}

const openings = /^(what|whether|whom?|whose|which|how|of|why|the same|as)\b(?!-)/i;

const sentencesMax = 3;

/** Collects the sentences that are too long. */
export function collectSentenceHits(path: string, passage: Passage): Hit[] {
  const hits: Hit[] = [];
  for (const { text, offset } of splitSentences(passage.text)) {
    const words = countWords(text);
    if (words <= wordsMax) continue;
    const found = `"${text.split(/\s+/).slice(0, 5).join(" ")} …" (${words} words)`;
    const rule: RuleName = "comment: sentence over 25 words";
    hits.push({ rule, path, line: findLine(passage, offset), found, instead: "two sentences" });
  }
  return hits;
}

const wordsMax = 25;
