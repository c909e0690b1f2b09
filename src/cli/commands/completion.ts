/** `pkid completion`: scripts by which bash, zsh and fish complete commands and flags. */

import { type Args, flagsOf, globalArgs, word } from "#cli/args.ts";
import { type Command, command, type Noun } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";

/**
 * The words that may follow each path of words: verbs, or the flags of a command; behind `flag`,
 * the values it takes.
 */
interface Words {
  readonly path: string;
  readonly flag?: string;
  readonly next: readonly string[];
}

/** The script for a shell, from the table of commands. */
export function completionFor(
  shell: string,
  nouns: Readonly<Record<string, Noun>>,
): string | undefined {
  const words = wordsOf("", { summary: "", verbs: nouns });
  if (shell === "bash") return bash(words);
  if (shell === "zsh") return zsh(words);
  return shell === "fish" ? fish(words) : undefined;
}

/** The command, which has to be told the table it stands in. */
export const completion = (nouns: () => Readonly<Record<string, Noun>>): Command =>
  command({
    summary: "Print the completion script for bash, zsh or fish.",
    local: true,
    args: { shell: word() },
    run: async ({ args, print }) => {
      const script = completionFor(args.shell, nouns());
      if (script === undefined)
        throw new UsageError(
          `There is no completion for ${args.shell}; bash, zsh and fish have one.`,
        );
      print({ script }, script);
    },
  });

function wordsOf(path: string, noun: Noun): readonly Words[] {
  if (!("verbs" in noun)) return [{ path, next: flags(noun.args) }, ...valuesOf(path, noun.args)];
  const inner = Object.entries(noun.verbs).flatMap(([name, one]) =>
    wordsOf(`${path} ${name}`, one),
  );
  return [{ path, next: Object.keys(noun.verbs) }, ...inner];
}

/** Of each flag whose values are few and known. */
const valuesOf = (path: string, own: Args): readonly Words[] =>
  flagsOf(own).flatMap(({ written: flag, arg }) => {
    const next = arg.words ?? ("options" in arg ? arg.options : undefined) ?? [];
    return next.length === 0 ? [] : [{ path, flag, next }];
  });

const flags = (own: Args): readonly string[] =>
  [...flagsOf(own), ...flagsOf(globalArgs)].map(({ written }) => written);

/** Longest paths first, and before each its flags: of several that fit a shell takes the first. */
const inOrder = (words: readonly Words[]): readonly Words[] =>
  [...words].sort(
    (a, b) =>
      Number(b.flag !== undefined) - Number(a.flag !== undefined) || b.path.length - a.path.length,
  );

/**
 * What the words before the cursor that are no flags, and behind them the last word whatever it is,
 * have to be like.
 */
const pattern = ({ path, flag }: Words): string => (flag === undefined ? path : `${path}* ${flag}`);

/** One `case` over the words before the cursor. */
const cases = (words: readonly Words[], line: (next: string) => string): string =>
  inOrder(words)
    .map((one) => {
      const ending = one.flag === undefined ? "*" : "";
      const quoted = pattern(one).replace("*", '"*"');
      return `    "${quoted}"${ending}) ${line(one.next.join(" "))} ;;\n`;
    })
    .join("");

/** Where a value of a flag or a file argument is due, file names are offered. */
const bash = (
  words: readonly Words[],
): string => `# bash completion for pkid: source <(pkid completion bash)
_pkid() {
  local current=\${COMP_WORDS[COMP_CWORD]} path="" word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="$path $word" ;; esac
  done
  case "$path \${COMP_WORDS[COMP_CWORD-1]}" in
${cases(words, (next) => `words="${next}"`)}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current" || true))
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$current" || true)); fi
}
complete -o filenames -F _pkid pkid
`;

const zsh = (words: readonly Words[]): string => `#compdef pkid
# zsh completion for pkid: source <(pkid completion zsh), or save it as _pkid in a directory of $fpath
_pkid() {
  local path_="" word
  local -a next
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$word" in -*) ;; *) path_="$path_ $word" ;; esac
  done
  case "$path_ \${words[CURRENT-1]}" in
${cases(words, (next) => `next=(${next})`)}  esac
  compadd -a next || _files
}
if [ "$funcstack[1]" = "_pkid" ]; then _pkid "$@"; else compdef _pkid pkid; fi
`;

const fish = (
  words: readonly Words[],
): string => `# fish completion for pkid: pkid completion fish | source
function __pkid_next
  set -l path ""
  for word in (commandline -opc)[2..-1]
    string match -q -- "-*" $word; or set path "$path $word"
  end
  switch "$path "(commandline -opc)[-1]
${inOrder(words)
  .map((one) => {
    const ending = one.flag === undefined ? "*" : "";
    return `    case "${pattern(one)}${ending}"\n      string split -- " " "${one.next.join(" ")}"\n`;
  })
  .join("")}  end
end
complete -c pkid -a "(__pkid_next)"
`;
