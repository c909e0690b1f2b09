/**
 * The rules of style that a machine can check on one parsed file: shape, names, comments and
 * forbidden calls.
 */

import {
  isArrayLiteralExpression,
  isArrowFunction,
  isAsExpression,
  isBindingElement,
  isCallExpression,
  isClassDeclaration,
  isDecorator,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isJsxSpreadAttribute,
  isMethodDeclaration,
  isNewExpression,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isSetAccessorDeclaration,
  isSpreadAssignment,
  isSpreadElement,
  isStringLiteral,
  isVariableStatement,
  type Node,
  NodeFlags,
  SyntaxKind,
} from "typescript/unstable/ast";
import { type Finding, lineOf, type Parsed, visit } from "./lib/source-tree.ts";

type Rule = (file: Parsed) => Finding[];

/** Every finding of every rule on these files. */
export const tidyFindings = (files: readonly Parsed[]): Finding[] =>
  files.flatMap((file) => rules.flatMap((rule) => rule(file)));

/** The file says in its first line what it is for. */
function opening(file: Parsed): Finding[] {
  const text = file.text.replace(/^#!.*\n/, "");
  const sentence = /^\/\*\*([\s\S]*?)\*\//
    .exec(text)?.[1]
    ?.replace(/\n\s*\*/g, "\n")
    .trim();
  if (sentence === undefined) return [at(file, 1, "the file does not open with a sentence.")];
  if (!/^[A-Z`]/.test(sentence) || !/[.:)]$/.test(sentence)) {
    return [at(file, 1, "the opening is not a sentence: capital, full stop.")];
  }
  return [];
}

function fileLength(file: Parsed): Finding[] {
  const lines = file.text.trimEnd().split("\n").length;
  const most = isTest(file) ? 600 : 500;
  return lines <= most ? [] : [at(file, most, `the file has ${lines} lines; at most ${most}.`)];
}

/**
 * A ceremony whose steps are numbered comments may be longer: splitting it would hide the order.
 */
function functionLength(file: Parsed): Finding[] {
  return collect(file, (node) => {
    if (!isFunction(node) || groupsTests(node, file)) return undefined;
    const first = lineOf(file, node);
    const lines = file.ast.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - first;
    const numbered = /\/\/ 1\. [\s\S]*\/\/ 2\. [\s\S]*\/\/ 3\. /.test(node.getText(file.ast));
    const most = numbered ? 120 : 60;
    return lines > most ? `this function has ${lines} lines; at most ${most}.` : undefined;
  });
}

/**
 * No `let` and no empty collection at the top of a module, no setters, no inheritance, no
 * decorators.
 */
function state(file: Parsed): Finding[] {
  if (!isProduct(file)) return [];
  const top = file.ast.statements
    .filter((statement) => isVariableStatement(statement))
    .flatMap(({ declarationList }) => [...declarationList.declarations])
    .filter(
      ({ parent, initializer }) => (parent.flags & NodeFlags.Const) === 0 || grows(initializer),
    )
    .map((node) => at(file, lineOf(file, node), "this is module state: give it to a class."));
  const forms = collect(file, (node) => {
    if (isSetAccessorDeclaration(node)) return "a setter: pass the value in instead.";
    if (isDecorator(node)) return "a decorator: say it in the code.";
    if (!isClassDeclaration(node) || !node.heritageClauses) return undefined;
    const inherits = node.heritageClauses.some((clause) =>
      /^extends (?!Error\b)/.test(clause.getText(file.ast)),
    );
    return inherits ? "this class inherits; classes are composed." : undefined;
  });
  return [...top, ...forms];
}

/** Members of a spread literal are not checked for being known, and pack lines for a counter. */
function spreads(file: Parsed): Finding[] {
  return collect(file, (node) => {
    if (!isSpreadAssignment(node) && !isSpreadElement(node) && !isJsxSpreadAttribute(node)) {
      return undefined;
    }
    let inner: Node = node.expression;
    // A claim about its type makes it no less a literal.
    while (isParenthesizedExpression(inner) || isAsExpression(inner)) inner = inner.expression;
    return isObjectLiteralExpression(inner) || isArrayLiteralExpression(inner)
      ? "a literal is spread: write its members out."
      : undefined;
  });
}

/**
 * The composition root says in which order and fits on a few pages; it copies no setting into
 * another: a noun takes its section, with the members' own names.
 */
function composition(file: Parsed): Finding[] {
  if (!/^src\/app(\.ts$|\/)/.test(file.path)) return [];
  const copies = collect(file, (node) => {
    if (!isPropertyAssignment(node) && !isBindingElement(node)) return undefined;
    const [to, from] = isPropertyAssignment(node)
      ? [node.name.getText(file.ast), memberOf(node.initializer)]
      : [node.name?.getText(file.ast), node.propertyName?.getText(file.ast)];
    if (from === undefined || !from.includes("_") || to !== camelCase(from)) return undefined;
    return `${from} is copied into ${to}: let the noun take its section.`;
  });
  const lines = file.text.trimEnd().split("\n").length;
  if (file.path !== "src/app.ts" || lines <= rootLinesMax) return copies;
  return [...copies, at(file, rootLinesMax, `the root has ${lines} lines; at most 300.`)];
}

const memberOf = (node: Node): string | undefined =>
  isPropertyAccessExpression(node) ? node.name.text : undefined;

const camelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const rootLinesMax = 300;

/** Preflight has one home in each layer, and is nowhere else. */
function preflightHome(file: Parsed): Finding[] {
  if (!/^src\/(app|core|domain|adapters)\/.*preflight/.test(file.path)) return [];
  const home = /^src\/[a-z]+\/preflight\/[^/]+$/.test(file.path);
  return home ? [] : [at(file, 1, "preflight lives in the folder `preflight` of its layer.")];
}

/** What is read by people fits their screen; what a tool reads stays on one line. */
function commentWidth(file: Parsed): Finding[] {
  const inComment = commentLines(file);
  return file.text
    .split("\n")
    .flatMap((text, index) =>
      text.length > 100 && inComment.has(index) && !/biome-ignore|https?:\/\//.test(text)
        ? [at(file, index + 1, `this comment reaches column ${text.length}; at most 100.`)]
        : [],
    );
}

/** Lines, counted from 0, on which a comment stands: between the tokens, never within a text. */
function commentLines(file: Parsed): ReadonlySet<number> {
  const lines = new Set<number>();
  const gap = (from: number, to: number): void => {
    for (const comment of file.text.slice(from, to).matchAll(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g)) {
      const start = from + comment.index;
      const first = file.ast.getLineAndCharacterOfPosition(start).line;
      const last = file.ast.getLineAndCharacterOfPosition(start + comment[0].length).line;
      for (let line = first; line <= last; line++) lines.add(line);
    }
  };
  visit(file.ast, (node) => {
    let end = node.getStart(file.ast);
    gap(node.pos, end);
    let parent = false;
    node.forEachChild((child) => {
      parent = true;
      gap(end, child.getStart(file.ast));
      end = child.getEnd();
    });
    if (parent) gap(end, node.getEnd());
  });
  return lines;
}

function names(file: Parsed): Finding[] {
  const stem =
    file.path
      .split("/")
      .at(-1)
      ?.replace(/\.(test\.)?tsx?$/, "") ?? "";
  const found: Finding[] = [];
  if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/.test(stem))
    found.push(at(file, 1, "file names are kebab-case."));
  if (meansNothing(stem)) found.push(at(file, 1, `"${stem}" says nothing about the file.`));
  return [
    ...found,
    ...collect(file, (node) => {
      const name = declaredName(node);
      if (name === undefined) return undefined;
      if (meansNothing(name)) return `"${name}" says nothing: use the word of the interface.`;
      if (/^get[A-Z]/.test(name)) return `"${name}": name what it gives, without get.`;
      if (/^is(Not|Non)[A-Z]/.test(name)) return `"${name}": say it positively.`;
      return undefined;
    }),
  ];
}

/** Time, randomness, network and environment are ports in core and domain. */
function calls(file: Parsed): Finding[] {
  if (!/^src\/(core|domain|operations\.ts)/.test(file.path)) return [];
  if (file.path === "src/core/crypto.ts") return [];
  return collect(file, (node) => {
    const banned = impure(node, file);
    return banned && `${banned} is not for ${file.path.split("/")[1]}: it has a port.`;
  });
}

function impure(node: Node, file: Parsed): string | undefined {
  if (isNewExpression(node) && node.expression.getText(file.ast) === "Date") {
    return node.arguments?.length ? undefined : "new Date()";
  }
  if (isCallExpression(node) && isIdentifier(node.expression)) {
    return node.expression.text === "fetch" ? "fetch" : undefined;
  }
  if (!isPropertyAccessExpression(node) || !isIdentifier(node.expression)) return undefined;
  const path = `${node.expression.text}.${node.name.text}`;
  return /^(Date\.now|Math\.random|performance\.now|process\..*|Bun\..*|crypto\.(getRandomValues|randomUUID))$/.test(
    path,
  )
    ? path
    : undefined;
}

/** An operation says what it answers: a shape, or the media types of a document. */
function shapes(file: Parsed): Finding[] {
  if (!/^src\/(api|protocols|http)\//.test(file.path)) return [];
  return collect(file, (node) => {
    if (!isCallExpression(node) || !isIdentifier(node.expression)) return undefined;
    const [first, second] = node.arguments;
    const callee = node.expression.text;
    const declared = callee === "described" ? second : first;
    if (!["operation", "guarded", "described"].includes(callee)) return undefined;
    if (declared === undefined || !isObjectLiteralExpression(declared)) return undefined;
    const members = declared.properties.map((member) => member.getText(file.ast));
    const says = (name: string) => members.find((text) => text.startsWith(name));
    const answer = says("output") ?? (callee === "described" ? says("gives") : undefined);
    if (answer === undefined) return "this operation does not say what it answers.";
    const isVague = /^output:\s*anything\(/.test(answer) && callee !== "described";
    return isVague ? "this operation answers anything: give it a shape." : undefined;
  });
}

/** What a request is on the wire ends at the edge: inside there are typed inputs. */
function edge(file: Parsed): Finding[] {
  if (!file.path.startsWith("src/domain/")) return [];
  return collect(file, (node) =>
    isIdentifier(node) && wireWords.has(node.text)
      ? `${node.text} ends at the edge: inside there are typed inputs.`
      : undefined,
  );
}

const wireWords: ReadonlySet<string> = new Set(["URLSearchParams", "Headers", "Response"]);

/**
 * Inside a unit of work there is no key, network or clock: it holds the only writer. A unit is what
 * `atomically` is given, and every function that takes a `tx` first.
 */
function atomic(file: Parsed): Finding[] {
  if (!isProduct(file)) return [];
  const found = new Map<number, Finding>();
  visit(file.ast, (node) => {
    for (const body of unitsIn(node)) {
      visit(body, (inner) => {
        if (!isCallExpression(inner)) return;
        const callee = inner.expression.getText(file.ast);
        if (!/(^|[.#])(keys|clock|outbound|resolver|fetch)(\.|$)/.test(callee)) return;
        if (/^tx\./.test(callee)) return;
        const line = lineOf(file, inner);
        found.set(inner.pos, at(file, line, `${callee} is called inside atomically.`));
      });
    }
  });
  return [...found.values()];
}

function unitsIn(node: Node): readonly Node[] {
  if (isArrowFunction(node) || isFunctionDeclaration(node) || isMethodDeclaration(node)) {
    const [first] = node.parameters;
    const takesTx = first !== undefined && isIdentifier(first.name) && first.name.text === "tx";
    return takesTx && node.body !== undefined ? [node.body] : [];
  }
  if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return [];
  return node.expression.name.text === "atomically" ? [...node.arguments] : [];
}

/** A ticket that is only claimed would let a key sign what no ledger knows of. */
function licences(file: Parsed): Finding[] {
  if (!file.path.startsWith("src/")) return [];
  return collect(file, (node) => {
    if (!isAsExpression(node)) return undefined;
    if (!/\bSignTicket\b/.test(node.type.getText(file.ast))) return undefined;
    return "nothing is cast to a SignTicket: domain/signing makes them.";
  });
}

/**
 * `as` claims what the compiler cannot see, so a comment on its statement says why it is true. The
 * one function that makes a branded value says it in its own docstring.
 */
function casts(file: Parsed): Finding[] {
  if (!isProduct(file)) return [];
  const lines = file.text.split("\n");
  return collect(file, (node) => {
    if (!isAsExpression(node) || node.type.getText(file.ast) === "const") return undefined;
    if (brands(node.type.getText(file.ast), node)) return undefined;
    const line = lineOf(file, node);
    const last = file.ast.getLineAndCharacterOfPosition(node.getEnd()).line + 1;
    const near = lines.slice(Math.max(0, line - 4), last);
    if (near.some((text) => /\/\/|\*\//.test(text))) return undefined;
    return "`as` without a comment saying why it is true.";
  });
}

function brands(type: string, node: Node): boolean {
  for (let outer = node.parent; outer.kind !== SyntaxKind.SourceFile; outer = outer.parent) {
    if (isFunctionDeclaration(outer)) {
      return outer.type?.getText() === type && (outer.jsDoc?.length ?? 0) > 0;
    }
  }
  return false;
}

function comments(file: Parsed): Finding[] {
  const unfinished = /\b(TODO|FIXME|XXX)\b/;
  if (ownWords.has(file.path)) return [];
  return file.text
    .split("\n")
    .flatMap((text, index) =>
      unfinished.test(text) ? [at(file, index + 1, "unfinished work does not merge.")] : [],
    );
}

/**
 * Exported functions and classes say what they take, give and refuse; the opening sentence is the
 * file's, not theirs.
 */
function docstrings(file: Parsed): Finding[] {
  if (!file.path.startsWith("src/")) return [];
  return file.ast.statements
    .filter((node) => isFunctionDeclaration(node) || isClassDeclaration(node))
    .filter((node) => node.modifiers?.some((one) => one.kind === SyntaxKind.ExportKeyword))
    .filter((node) => !(node.jsDoc ?? []).some((comment) => comment.pos > 0))
    .map((node) => at(file, lineOf(file, node), "exported and without a docstring."));
}

/** A test says in a sentence what the system does. */
function testNames(file: Parsed): Finding[] {
  if (!isTest(file)) return [];
  return collect(file, (node) => {
    if (!isCallExpression(node) || !isIdentifier(node.expression)) return undefined;
    const [name] = node.arguments;
    if (node.expression.text !== "test" || !name || !isStringLiteral(name)) return undefined;
    return name.text.split(" ").length < 3
      ? `"${name.text}" is not a sentence about the system.`
      : undefined;
  });
}

const isTest = (file: Parsed): boolean => file.path.startsWith("test/");
const isProduct = (file: Parsed): boolean => /^(src|web)\//.test(file.path);

const isFunction = (node: Node): boolean =>
  isFunctionDeclaration(node) ||
  isFunctionExpression(node) ||
  isArrowFunction(node) ||
  isMethodDeclaration(node) ||
  node.kind === SyntaxKind.Constructor;

/**
 * What registers tests (the body of `describe`, a contract suite) is a table of contents, not a
 * function.
 */
const groupsTests = (node: Node, file: Parsed): boolean =>
  isTest(file) && /^ *(describe|test)(\.\w+)*\(/m.test(node.getText(file.ast));

const grows = (initializer: Node | undefined): boolean =>
  initializer !== undefined &&
  /^(new (Weak)?(Map|Set)(<[^(]*>)?\(\)|\[\]|\{\})$/.test(initializer.getText());

const meansNothing = (name: string): boolean =>
  /^(data|info|manager|helpers?|utils?|process)$/i.test(name) ||
  /(Manager|Helpers?|Utils?)$/.test(name);

const declarations = new Set<SyntaxKind>([
  SyntaxKind.VariableDeclaration,
  SyntaxKind.Parameter,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.ClassDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.MethodSignature,
  SyntaxKind.PropertyDeclaration,
  SyntaxKind.BindingElement,
]);

function declaredName(node: Node): string | undefined {
  if (!declarations.has(node.kind)) return undefined;
  // The method of an object literal answers an interface, often somebody else's, and is named by
  // it.
  if (isMethodDeclaration(node) && !isClassDeclaration(node.parent)) return undefined;
  // Every kind in the set is a declaration, and declarations have a name.
  const name = (node as Node & { readonly name?: Node }).name;
  return name && isIdentifier(name) ? name.text : undefined;
}

const at = (file: Parsed, line: number, sentence: string): Finding => ({
  path: file.path,
  line,
  sentence,
});

function collect(file: Parsed, judge: (node: Node) => string | undefined): Finding[] {
  const found: Finding[] = [];
  visit(file.ast, (node) => {
    const sentence = judge(node);
    if (sentence) found.push(at(file, lineOf(file, node), sentence));
  });
  return found;
}

/** The files that have to spell the words they forbid. */
const ownWords = new Set(["scripts/tidy-rules.ts", "test/tidy.test.ts"]);

const rules: readonly Rule[] = [
  opening,
  fileLength,
  functionLength,
  state,
  spreads,
  composition,
  preflightHome,
  commentWidth,
  names,
  calls,
  shapes,
  edge,
  atomic,
  casts,
  licences,
  comments,
  docstrings,
  testNames,
];
