/** Walks over what stands in a YAML text, before it is made into values. */

import { CST } from "yaml";

/** A token, and how many collections it stands in, itself included. */
export interface NestedToken {
  readonly token: CST.Token;
  readonly depth: number;
}

/**
 * Every token of these and in these, in the order of the text. Nothing here recurses: the text may
 * nest as deep as it is long.
 */
export function* nestedTokens(roots: readonly CST.Token[]): Generator<NestedToken> {
  const waiting = roots.toReversed().map((token) => ({ token, depth: depthOf(token, 0) }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    const { depth } = next;
    for (const token of tokensIn(next.token).toReversed()) {
      waiting.push({ token, depth: depthOf(token, depth) });
    }
  }
}

const depthOf = (token: CST.Token, around: number): number =>
  CST.isCollection(token) ? around + 1 : around;

function tokensIn(token: CST.Token): readonly CST.Token[] {
  if (token.type === "document") return token.value === undefined ? [] : [token.value];
  if (!CST.isCollection(token)) return [];
  const items: readonly CST.CollectionItem[] = token.items;
  return items.flatMap(({ start, key, sep, value }) => [
    ...start,
    ...(key ? [key] : []),
    ...(sep ?? []),
    ...(value ? [value] : []),
  ]);
}
