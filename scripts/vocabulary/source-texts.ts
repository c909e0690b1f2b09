/** Reads everything from one source file that the rules of language apply to. */

import { type Node, SyntaxKind } from "typescript/unstable/ast";
import { type Parsed, visit } from "../lib/source-tree.ts";
import { type Comment, collectComments, type Range } from "./comments.ts";
import { type DeclaredName, findDeclaredName } from "./declarations.ts";
import { findTestName, findUiText } from "./strings.ts";
import type { TextUnit } from "./text-unit.ts";

/** Names and texts of one source file, each in the order of the file. */
export interface SourceTexts {
  readonly path: string;
  readonly names: readonly DeclaredName[];
  readonly comments: readonly Comment[];
  readonly testNames: readonly TextUnit[];
  readonly uiTexts: readonly TextUnit[];
}

/** Reads the names and texts of a parsed file. */
export function readSourceTexts(file: Parsed): SourceTexts {
  const names: DeclaredName[] = [];
  const testNames: TextUnit[] = [];
  const uiTexts: TextUnit[] = [];
  const literals: Range[] = [];
  const isTest = file.path.startsWith("test/");
  const isProduct = /^(src|web)\//.test(file.path);
  visit(file.ast, (node) => {
    if (literalKinds.has(node.kind)) literals.push(findRange(node, file));
    const name = findDeclaredName(node, file);
    if (name !== undefined) names.push(name);
    const testName = isTest ? findTestName(node, file) : undefined;
    if (testName !== undefined) testNames.push(testName);
    const uiText = isProduct && textKinds.has(node.kind) ? findUiText(node, file) : undefined;
    if (uiText !== undefined) uiTexts.push(uiText);
  });
  return {
    path: file.path,
    names,
    comments: collectComments(file.text, literals),
    testNames,
    uiTexts,
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
