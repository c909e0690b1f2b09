/** Reads everything from one source file that the rules of language apply to. */

import { type Node, SyntaxKind } from "typescript/unstable/ast";
import { type Parsed, visit } from "../lib/source-tree.ts";
import { type Comment, collectComments, type Range } from "./comments.ts";
import { type DeclaredName, findDeclaredName } from "./declarations.ts";
import { findTestName, findUiString } from "./strings.ts";
import type { Passage } from "./passage.ts";

/** Names, comments and strings of one source file, each in the order of the file. */
export interface SourceContent {
  readonly path: string;
  readonly names: readonly DeclaredName[];
  readonly comments: readonly Comment[];
  readonly testNames: readonly Passage[];
  readonly uiStrings: readonly Passage[];
}

/** Reads the names, comments and strings of a parsed file. */
export function readSourceContent(file: Parsed): SourceContent {
  const names: DeclaredName[] = [];
  const testNames: Passage[] = [];
  const uiStrings: Passage[] = [];
  const literals: Range[] = [];
  const isTest = file.path.startsWith("test/");
  const isProduct = /^(src|web)\//.test(file.path);
  visit(file.ast, (node) => {
    if (literalKinds.has(node.kind)) literals.push(findRange(node, file));
    const name = findDeclaredName(node, file);
    if (name !== undefined) names.push(name);
    const testName = isTest ? findTestName(node, file) : undefined;
    if (testName !== undefined) testNames.push(testName);
    const uiString = isProduct && textKinds.has(node.kind) ? findUiString(node, file) : undefined;
    if (uiString !== undefined) uiStrings.push(uiString);
  });
  return {
    path: file.path,
    names,
    comments: collectComments(file.text, literals),
    testNames,
    uiStrings,
  };
}

const findRange = (node: Node, file: Parsed): Range => ({
  start: node.kind === SyntaxKind.JsxText ? node.pos : node.getStart(file.ast),
  end: node.getEnd(),
});

const literalKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.JsxText,
]);

const textKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateExpression,
  SyntaxKind.JsxText,
]);
