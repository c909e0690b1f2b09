/** Finds the branches of a parsed file and inserts a counter into each. */

import {
  isBinaryExpression,
  isBindingElement,
  isBlock,
  isCaseClause,
  isConditionalExpression,
  isDefaultClause,
  isIfStatement,
  isParameterDeclaration,
  type Node,
  type Statement,
  SyntaxKind,
} from "typescript/unstable/ast";
import { registerName } from "./coverage-folder.ts";
import { lineOf, type Parsed, visit } from "./source-tree.ts";

/** One source file with its counters. */
export interface InstrumentedFile {
  /** Line of each branch, counted from 1; the index is the number of the counter. */
  readonly lines: readonly number[];
  /** Source with counters. Every token stays on its line, so that stack traces stay right. */
  readonly text: string;
}

/**
 * Inserts a counter into each branch of a file. Branches are both ways of `if` and `?:`, each
 * clause of a `switch`, and each default of a parameter or destructured property. The right side of
 * `&&`, `||`, `??` and of their assignments is one too.
 */
export function instrumentBranches(file: Parsed): InstrumentedFile {
  const branches = new BranchCounters(file);
  visit(file.ast, (node) => branches.add(node));
  return { lines: branches.lines, text: branches.formatSource() };
}

class BranchCounters {
  readonly lines: number[] = [];
  readonly #file: Parsed;
  /** Strings to insert by offset: those in `ends` come before those in `starts`. */
  readonly #insertions = new Map<number, { readonly ends: string[]; readonly starts: string[] }>();

  constructor(file: Parsed) {
    this.#file = file;
  }

  /** Adds the branches of this node. Outer nodes come before inner ones. */
  add(node: Node): void {
    if (isIfStatement(node)) {
      if (node.elseStatement) this.#addStatement(node.elseStatement);
      else this.#insertEnd(node.getEnd(), ` else {${this.#createCounter(node)};}`);
      this.#addStatement(node.thenStatement);
    } else if (isConditionalExpression(node)) {
      this.#addExpression(node.whenTrue);
      this.#addExpression(node.whenFalse);
    } else if (isBinaryExpression(node)) {
      if (shortCircuits.has(node.operatorToken.kind)) this.#addExpression(node.right);
    } else if (isCaseClause(node) || isDefaultClause(node)) {
      const [first] = node.statements;
      const offset = first?.getStart(this.#file.ast) ?? node.getEnd();
      this.#insertStart(offset, `${this.#createCounter(node)};`);
    } else if (isParameterDeclaration(node) || isBindingElement(node)) {
      if (node.initializer) this.#addExpression(node.initializer);
    }
  }

  /** Returns the source with all counters, the declaration of their array in its first line. */
  formatSource(): string {
    const { path, text } = this.#file;
    const parts = [
      `const ${array} = ${registerName}(${JSON.stringify(path)}, ${this.lines.length}); `,
    ];
    let offset = 0;
    for (const next of [...this.#insertions.keys()].sort((a, b) => a - b)) {
      const { ends = [], starts = [] } = this.#insertions.get(next) ?? {};
      parts.push(text.slice(offset, next), ...ends, ...starts);
      offset = next;
    }
    parts.push(text.slice(offset));
    return parts.join("");
  }

  #addStatement(node: Statement): void {
    const start = node.getStart(this.#file.ast);
    const counter = `${this.#createCounter(node)};`;
    if (isBlock(node)) {
      this.#insertStart(start + 1, counter);
    } else {
      this.#insertStart(start, `{${counter}`);
      this.#insertEnd(node.getEnd(), "}");
    }
  }

  #addExpression(node: Node): void {
    this.#insertStart(node.getStart(this.#file.ast), `(${this.#createCounter(node)}, `);
    this.#insertEnd(node.getEnd(), ")");
  }

  #createCounter(node: Node): string {
    return `${array}[${this.lines.push(lineOf(this.#file, node)) - 1}] = 1`;
  }

  #insertStart(offset: number, text: string): void {
    this.#findInsertions(offset).starts.push(text);
  }

  /** Inserts before all ends added earlier, because those belong to the nodes around it. */
  #insertEnd(offset: number, text: string): void {
    this.#findInsertions(offset).ends.unshift(text);
  }

  #findInsertions(offset: number) {
    const found = this.#insertions.get(offset) ?? { ends: [], starts: [] };
    this.#insertions.set(offset, found);
    return found;
  }
}

/** Name of the array of counters in an instrumented file. */
const array = "__branches";

const shortCircuits: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.AmpersandAmpersandToken,
  SyntaxKind.BarBarToken,
  SyntaxKind.QuestionQuestionToken,
  SyntaxKind.AmpersandAmpersandEqualsToken,
  SyntaxKind.BarBarEqualsToken,
  SyntaxKind.QuestionQuestionEqualsToken,
]);
