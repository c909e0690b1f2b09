/** Finds what a file imports: every form the language has, with types counted like values. */

import { dirname, join } from "node:path";
import {
  isCallExpression,
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isNamedImports,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import { lineOf, type Parsed, visit } from "./source-tree.ts";

/** One import of one file. */
export interface Import {
  readonly from: string;
  readonly line: number;
  readonly specifier: string;
  /** Erased by the compiler; still a dependency of the design. */
  readonly typeOnly: boolean;
  /** What it takes by name; undefined when it takes the whole module. */
  readonly names: readonly string[] | undefined;
  /** `export … from`: passes somebody else's names on. */
  readonly passesOn: boolean;
  readonly target: Target;
}

export type Target =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "runtime" }
  | { readonly kind: "package"; readonly name: string };

/** Every import of the file, in order. `aliases` is `"imports"` of package.json. */
export function importsOf(file: Parsed, aliases: Readonly<Record<string, string>>): Import[] {
  const found: Import[] = [];
  visit(file.ast, (node) => {
    const named = specifierOf(node);
    if (named === undefined) return;
    found.push({
      from: file.path,
      line: lineOf(file, node),
      specifier: named.specifier,
      typeOnly: named.typeOnly,
      names: named.names,
      passesOn: isExportDeclaration(node),
      target: targetOf(named.specifier, file.path, aliases),
    });
  });
  return found;
}

type Specified = Pick<Import, "specifier" | "typeOnly" | "names">;

function specifierOf(node: Node): Specified | undefined {
  if (isImportDeclaration(node) && isStringLiteral(node.moduleSpecifier)) {
    const clause = node.importClause;
    const typeOnly =
      clause?.phaseModifier === SyntaxKind.TypeKeyword ||
      (clause !== undefined && !clause.name && onlyTypes(clause.namedBindings));
    const bindings = clause?.namedBindings;
    const names =
      bindings !== undefined && isNamedImports(bindings)
        ? bindings.elements.map((element) => (element.propertyName ?? element.name).text)
        : undefined;
    return { specifier: node.moduleSpecifier.text, typeOnly, names };
  }
  if (isExportDeclaration(node) && node.moduleSpecifier && isStringLiteral(node.moduleSpecifier)) {
    const { text: specifier } = node.moduleSpecifier;
    return { specifier, typeOnly: node.isTypeOnly, names: undefined };
  }
  if (isImportTypeNode(node) && isLiteralTypeNode(node.argument)) {
    const literal = node.argument.literal;
    return isStringLiteral(literal)
      ? { specifier: literal.text, typeOnly: true, names: [] }
      : undefined;
  }
  if (isCallExpression(node) && loads(node.expression)) {
    const [argument] = node.arguments;
    return argument && isStringLiteral(argument)
      ? { specifier: argument.text, typeOnly: false, names: undefined }
      : undefined;
  }
  return undefined;
}

const loads = (callee: Node): boolean =>
  callee.kind === SyntaxKind.ImportKeyword || (isIdentifier(callee) && callee.text === "require");

const onlyTypes = (bindings: Node | undefined): boolean =>
  bindings !== undefined &&
  isNamedImports(bindings) &&
  bindings.elements.length > 0 &&
  bindings.elements.every((element) => element.isTypeOnly);

function targetOf(
  specifier: string,
  from: string,
  aliases: Readonly<Record<string, string>>,
): Target {
  if (specifier.startsWith(".")) return { kind: "file", path: join(dirname(from), specifier) };
  if (specifier.startsWith("#")) return { kind: "file", path: aliased(specifier, aliases) };
  if (/^(node:|bun:|bun$)/.test(specifier)) return { kind: "runtime" };
  const [scope = "", name = ""] = specifier.split("/");
  return { kind: "package", name: specifier.startsWith("@") ? `${scope}/${name}` : scope };
}

function aliased(specifier: string, aliases: Readonly<Record<string, string>>): string {
  for (const [alias, path] of Object.entries(aliases)) {
    if (alias === specifier) return join(path);
    const prefix = alias.slice(0, -1);
    if (alias.endsWith("*") && specifier.startsWith(prefix)) {
      return join(path.slice(0, -1), specifier.slice(prefix.length));
    }
  }
  return specifier;
}
