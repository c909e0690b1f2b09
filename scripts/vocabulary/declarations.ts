/** Collects the names that a file declares. */

import {
  isClassDeclaration,
  isFunctionTypeNode,
  isIdentifier,
  isImportSpecifier,
  isMethodDeclaration,
  isParenthesizedExpression,
  isPrivateIdentifier,
  isPropertySignatureDeclaration,
  isVariableDeclaration,
  type MethodDeclaration,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import type { Parsed } from "../lib/source-tree.ts";

/** One declared name. */
export interface DeclaredName {
  /** Declared name without the `#` of private names. */
  readonly name: string;
  /** Counted from 1. */
  readonly line: number;
  readonly role: "function" | "type" | "value";
  readonly isExported: boolean;
}

/** Returns the name that the node declares; undefined if it declares none, or one of others. */
export function findDeclaredName(node: Node, file: Parsed): DeclaredName | undefined {
  if (!declarations.has(node.kind)) return undefined;
  if (isMethodDeclaration(node) && isNamedByInterface(node)) return undefined;
  if (isImportSpecifier(node) && node.propertyName === undefined) return undefined;
  // Each kind of the set declares a name, or has none.
  const { name } = node as Node & { readonly name?: Node };
  if (name === undefined || !(isIdentifier(name) || isPrivateIdentifier(name))) return undefined;
  const { line } = file.ast.getLineAndCharacterOfPosition(name.getStart(file.ast));
  return {
    name: name.text.replace(/^#/, ""),
    line: line + 1,
    role: findRole(node),
    isExported: isExported(node),
  };
}

/** True if an interface requires the name of the method: the interface is where it is checked. */
function isNamedByInterface({ parent, name }: MethodDeclaration): boolean {
  if (!isClassDeclaration(parent)) return true;
  const clauses = parent.heritageClauses ?? [];
  const implementsAny = clauses.some(({ token }) => token === SyntaxKind.ImplementsKeyword);
  return implementsAny && !isPrivateIdentifier(name);
}

const declarations: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.VariableDeclaration,
  SyntaxKind.Parameter,
  SyntaxKind.BindingElement,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.ClassDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.TypeParameter,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.MethodSignature,
  SyntaxKind.PropertyDeclaration,
  SyntaxKind.PropertySignature,
  SyntaxKind.GetAccessor,
  SyntaxKind.ImportSpecifier,
  SyntaxKind.NamespaceImport,
]);

const functions: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.MethodSignature,
  SyntaxKind.ArrowFunction,
  SyntaxKind.FunctionExpression,
]);

const types: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.ClassDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
]);

function findRole(node: Node): DeclaredName["role"] {
  if (types.has(node.kind)) return "type";
  if (functions.has(node.kind)) return "function";
  if (isPropertySignatureDeclaration(node)) {
    return node.type !== undefined && isFunctionTypeNode(node.type) ? "function" : "value";
  }
  if (!isVariableDeclaration(node) && node.kind !== SyntaxKind.PropertyDeclaration) return "value";
  // Both kinds have an optional initializer.
  let { initializer } = node as Node & { readonly initializer?: Node };
  while (initializer !== undefined && isParenthesizedExpression(initializer)) {
    initializer = initializer.expression;
  }
  return initializer !== undefined && functions.has(initializer.kind) ? "function" : "value";
}

function isExported(node: Node): boolean {
  // Statements that declare have optional modifiers.
  const { modifiers } = node as Node & { readonly modifiers?: readonly Node[] };
  return modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword) ?? false;
}

/** Splits a name at case changes and hyphens and returns it in lower case, joined with blanks. */
export const splitName = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .replaceAll(/[-.$]+/g, " ")
    .trim()
    .toLowerCase();

/** Returns the base name of a source file without its extensions. */
export const findFileStem = (path: string): string =>
  (path.split("/").at(-1) ?? "").replace(/(\.(test|suite|d))*\.tsx?$/, "");
