/** `pkid completion`: scripts by which bash, zsh and fish complete commands and flags. */

import { type Args, flagsOf, globalArgs, word } from "#cli/args.ts";
import { type Command, command, type Noun } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";

/** The words that may follow each path of words, and the flags of each command. */
interface Words {
  readonly path: string;
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
  if (!("verbs" in noun)) return [{ path, next: flags(noun.args) }];
  const inner = Object.entries(noun.verbs).flatMap(([name, one]) =>
    wordsOf(`${path} ${name}`, one),
  );
  return [{ path, next: Object.keys(noun.verbs) }, ...inner];
}

const flags = (own: Args): readonly string[] =>
  [...flagsOf(own), ...flagsOf(globalArgs)].map(({ written }) => written);

/**
 * One `case` over the words before the cursor that are no flags, from the longest path to the
 * shortest.
 */
function cases(words: readonly Words[], line: (next: string) => string): string {
  const longest = [...words].sort((a, b) => b.path.length - a.path.length);
  return longest.map(({ path, next }) => `    "${path}"*) ${line(next.join(" "))} ;;\n`).join("");
}

/** Where a value of a flag or a file argument is due, file names are offered. */
const bash = (
  words: readonly Words[],
): string => `# bash completion for pkid: source <(pkid completion bash)
_pkid() {
  local current=\${COMP_WORDS[COMP_CWORD]} path="" word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="$path $word" ;; esac
  done
  case "$path" in
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
  case "$path_" in
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
  switch "$path"
${[...words]
  .sort((a, b) => b.path.length - a.path.length)
  .map(({ path, next }) => `    case "${path}*"\n      string split -- " " "${next.join(" ")}"\n`)
  .join("")}  end
end
complete -c pkid -a "(__pkid_next)"
`;
