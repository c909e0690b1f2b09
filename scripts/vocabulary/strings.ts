/** Finds test names, and strings of the product that users read. */

import {
  isCallExpression,
  isIdentifier,
  isJsxAttribute,
  isJsxText,
  isNoSubstitutionTemplateLiteral,
  isPropertyAccessExpression,
  isStringLiteral,
  isTaggedTemplateExpression,
  isTemplateExpression,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import { lineOf, type Parsed } from "../lib/source-tree.ts";
import { joinLines, type Passage } from "./passage.ts";

/** Returns the name that a call of `test` or `it` has as its first argument. */
export function findTestName(node: Node, file: Parsed): Passage | undefined {
  if (!isCallExpression(node) || !isTestFunction(node.expression)) return undefined;
  const [name] = node.arguments;
  const text = name === undefined ? undefined : findStringText(name);
  return name === undefined || text === undefined
    ? undefined
    : joinLines([{ text, line: lineOf(file, name) }]);
}

/** Checks for `test`, `test.skip`, `test.if(…)`, `test.each(…)` and the same of `it`. */
function isTestFunction(callee: Node): boolean {
  if (isIdentifier(callee)) return callee.text === "test" || callee.text === "it";
  if (isPropertyAccessExpression(callee)) return isTestFunction(callee.expression);
  return (
    isCallExpression(callee) &&
    isPropertyAccessExpression(callee.expression) &&
    isTestFunction(callee.expression)
  );
}

/** Returns the text of a string or template; each substitution becomes an ellipsis. */
function findStringText(node: Node): string | undefined {
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("");
}

/**
 * Returns the text of a string, template or JSX text that users may read.
 *
 * @returns undefined for other nodes, import paths, SQL, and strings without a blank; in `web` a
 *   single capitalized string counts too
 */
export function findUiString(node: Node, file: Parsed): Passage | undefined {
  const text = isJsxText(node) ? node.text : findStringText(node);
  if (text === undefined || isModulePath(node) || isSql(node, text)) return undefined;
  const trimmed = text.trim();
  const isCapitalized = file.path.startsWith("web/") && /^[A-Z][a-z]+[.?!…:]?$/.test(trimmed);
  const isRead = isCapitalized || (/\S\s+\S/.test(trimmed) && !isMarkupAttribute(node));
  if (!isRead || !/\p{L}/u.test(trimmed)) return undefined;
  const line = lineOf(file, node);
  const lines = trimmed.split("\n").map((part, index) => ({ text: part, line: line + index }));
  return joinLines(lines);
}

const moduleParents: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.ExternalModuleReference,
  SyntaxKind.LiteralType,
]);

const isModulePath = (node: Node): boolean => moduleParents.has(node.parent.kind);

const isMarkupAttribute = ({ parent }: Node): boolean =>
  isJsxAttribute(parent) &&
  isIdentifier(parent.name) &&
  /^(class|className|style|d|viewBox|points|transform|rel)$/.test(parent.name.text);

function isSql(node: Node, text: string): boolean {
  const { parent } = node;
  if (isTaggedTemplateExpression(parent)) return true;
  return sqlStart.test(text) || sqlPart.test(text);
}

const sqlStart =
  /^\s*(select|insert (or \w+ )?into|update \w+|update …|delete from|with \w+ as|with recursive|create (\w+ )?(table|index|trigger|view|role|database|schema|function)|alter|drop|pragma|begin (immediate|isolation)|rollback|savepoint|attach|vacuum|truncate|copy \w|explain|reindex|values)\b/i;

const sqlPart =
  /(^|\s)(where|and|or|on|set|having)\s+[\w."…]+\s*(=|<|>|<>|<=|>=|in \(|is (not )?null|between|like)|\border by\b|\bgroup by\b|\bleft join\b|\bon conflict\b|\breturning \w|%\d|\$\d|= \?/i;
