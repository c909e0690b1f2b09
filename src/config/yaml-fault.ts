/** Says where and why a text is not YAML, without quoting it: a value may be a secret. */

import type { CST, YAMLParseError } from "yaml";

import { nestedTokens } from "./yaml-tokens.ts";

/**
 * The offset a person has to look at: of a bracket or quote that is never closed its own, where the
 * library names the end it did not find; of a second colon the colon's.
 */
export function faultPlace({ code, pos }: YAMLParseError, tokens: readonly CST.Token[]): number {
  const [at] = pos;
  let unclosed: number | undefined;
  for (const { token } of nestedTokens(tokens)) {
    if (token.type === "block-map" && token.offset === at && code === "BLOCK_AS_IMPLICIT_KEY") {
      const colon = token.items[0]?.sep?.find(({ type }) => type === "map-value-ind");
      if (colon !== undefined) return colon.offset;
    }
    if (isUnclosed(token) && token.offset <= at) unclosed = token.offset;
  }
  return unclosed ?? at;
}

/** Why, in words of our own: the library's quote what stands in the text. */
export const faultWords = ({ code }: YAMLParseError): string => words[code];

function isUnclosed(token: CST.Token): token is CST.FlowCollection | CST.FlowScalar {
  if (token.type === "flow-collection") {
    return !token.end.some(({ type }) => type === "flow-seq-end" || type === "flow-map-end");
  }
  if (token.type !== "double-quoted-scalar" && token.type !== "single-quoted-scalar") return false;
  const mark = token.type === "double-quoted-scalar" ? '"' : "'";
  return token.source.length < 2 || !token.source.endsWith(mark);
}

// biome-ignore format: the table is read by column.
const words = {
  ALIAS_PROPS:            "an alias has an anchor or a tag",
  BAD_ALIAS:              "an alias or an anchor has no name, or one with a colon at its end",
  BAD_COLLECTION_TYPE:    "a tag does not fit what it stands before",
  BAD_DIRECTIVE:          "a directive is malformed",
  BAD_DQ_ESCAPE:          "an escape in double quotes is not known",
  BAD_INDENT:             "a line stands at a column where nothing of its kind can stand",
  BAD_PROP_ORDER:         "an anchor or a tag stands in the wrong place",
  BAD_SCALAR_START:       "text that begins with this character needs quotes",
  BLOCK_AS_IMPLICIT_KEY:  "a second colon or dash where one value can stand; such text needs quotes",
  BLOCK_IN_FLOW:          "indented lines cannot stand inside brackets",
  DUPLICATE_KEY:          "a key stands twice",
  IMPOSSIBLE:             "it cannot be read",
  KEY_OVER_1024_CHARS:    "a key is longer than 1024 characters",
  MISSING_CHAR:           "a colon, a closing quote, or a space before a comment is missing",
  MULTILINE_IMPLICIT_KEY: "a key goes over several lines, or a colon is missing",
  MULTIPLE_ANCHORS:       "a value has several anchors",
  MULTIPLE_DOCS:          "there are several documents",
  MULTIPLE_TAGS:          "a value has several tags",
  NON_STRING_KEY:         "a key is no text",
  RESOURCE_EXHAUSTION:    "it nests too deep",
  TAB_AS_INDENT:          "tabs cannot indent a line",
  TAG_RESOLVE_FAILED:     "a tag is malformed or not known",
  UNEXPECTED_TOKEN:       "something stands here that cannot stand here",
} as const satisfies Record<YAMLParseError["code"], string>;
