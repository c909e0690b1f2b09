/** `pkid manual`: the operator's manual, a chapter at a time. */

import { optionalWord, toggle } from "#cli/args.ts";
import { command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { chapterText } from "#cli/manual-text.ts";
import { near } from "#config/nearest.ts";
import type { Chapter } from "#core/manual/markdown.ts";

export const manual = command({
  summary: "Print a chapter of the operator's manual, or tell which there are.",
  local: true,
  args: {
    chapter: optionalWord(),
    list: toggle("Only tell which chapters there are, as without a chapter."),
    all: toggle("Print every chapter."),
  },
  run: async ({ args, deps, print }) => {
    const { chapter: name, list, all } = args;
    if (list && (all || name !== undefined)) {
      throw new UsageError("--list goes with neither --all nor a chapter.");
    }
    if (all && name !== undefined) throw new UsageError("Give a chapter or --all, not both.");
    const chapters = deps.manual();
    if (name !== undefined) {
      const chapter = known(name, chapters);
      return void print(chapter, chapterText(chapter));
    }
    if (all) return void print({ chapters }, chapters.map(chapterText).join("\n\n"));
    const contents = chapters.map(({ name: own, title }) => ({ name: own, title }));
    print({ chapters: contents }, contentsText(contents));
  },
});

function known(name: string, chapters: readonly Chapter[]): Chapter {
  const found = chapters.find((chapter) => chapter.name === name);
  if (found !== undefined) return found;
  const close = near(
    name,
    chapters.map((chapter) => chapter.name),
  );
  const hint = close === undefined ? "pkid manual --list tells them." : `Did you mean ${close}?`;
  throw new UsageError(`There is no chapter ${name}. ${hint}`);
}

function contentsText(chapters: readonly Pick<Chapter, "name" | "title">[]): string {
  const width = Math.max(...chapters.map(({ name }) => name.length));
  const lines = chapters.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`);
  return `${["Chapters of the operator's manual; pkid manual <chapter> prints one:", "", ...lines].join("\n")}\n`;
}
