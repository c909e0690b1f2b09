/** The chapters of the manual: one at a time, or those that contain what is sought. */

import { useState } from "preact/hooks";
import { type Block, parseMarkdown } from "#core/manual/markdown.ts";
import type { Answers } from "#api/answers.ts";
import { hrefOf, hrefWith, visit } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Asked } from "#web/ui/asked.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Heading } from "#web/ui/heading.tsx";
import { Said } from "#web/ui/said.tsx";

type Chapter = Answers["manual.read"]["chapters"][number];

interface ManualPartProps {
  /** Of the chapter that is open; the first where it is left out. */
  readonly name: string | undefined;
}

/** `q=…` in the address shows where the words stand. */
export function ManualPart({ name }: ManualPartProps) {
  const { q = "" } = useAddress().query;
  return (
    <Asked name="manual.read">
      {({ chapters }) => {
        const chosen = name === undefined ? chapters[0] : chapters.find(named(name));
        return (
          <>
            <Heading name={q === "" ? (chosen?.title ?? "Manual") : `“${q}” in the manual`}>
              <Search key={q} q={q} />
            </Heading>
            <div class="manual">
              <nav class="contents" aria-label="Chapters">
                {chapters.map((chapter) => (
                  <a
                    key={chapter.name}
                    href={hrefOf(["manual", "chapters", chapter.name])}
                    aria-current={chapter === chosen && q === "" ? "page" : undefined}
                  >
                    {chapter.title}
                  </a>
                ))}
              </nav>
              {q !== "" && <Found q={q} chapters={chapters} />}
              {q === "" && chosen && <ChapterText chapter={chosen} />}
              {q === "" && !chosen && <p>There is no chapter “{name}”. Choose one.</p>}
            </div>
          </>
        );
      }}
    </Asked>
  );
}

const named =
  (name: string) =>
  (chapter: Chapter): boolean =>
    chapter.name === name;

function Search({ q }: { readonly q: string }) {
  const address = useAddress();
  const [sought, setSought] = useState(q);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        visit(hrefWith(address, { q: sought.trim() }));
      }}
    >
      <input
        type="search"
        aria-label="Search the manual"
        placeholder="Search the manual"
        value={sought}
        onInput={({ currentTarget }) => setSought(currentTarget.value)}
      />
    </form>
  );
}

interface FoundProps {
  readonly q: string;
  readonly chapters: readonly Chapter[];
}

function Found({ q, chapters }: FoundProps) {
  const words = q.toLowerCase();
  const found = chapters.flatMap((chapter) =>
    parseMarkdown(chapter.markdown)
      .map(textOf)
      .filter((text) => text.toLowerCase().includes(words))
      .map((text) => ({ chapter, text })),
  );
  if (found.length === 0) return <p>The manual does not say that anywhere.</p>;
  return (
    <ul class="bare">
      {found.length > foundMax && (
        <li class="quiet">
          The first {foundMax} of {found.length.toLocaleString("en")} places.
        </li>
      )}
      {found.slice(0, foundMax).map(({ chapter, text }) => (
        <li key={`${chapter.name} ${text}`}>
          <a href={hrefOf(["manual", "chapters", chapter.name])}>{chapter.title}</a>
          <p>
            <Text text={text} />
          </p>
        </li>
      ))}
    </ul>
  );
}

function textOf(block: Block): string {
  switch (block.kind) {
    case "heading":
    case "paragraph":
      return block.text;
    case "list":
    case "steps":
      return block.items.join(" ");
    case "code":
      return block.lines.join("\n");
  }
}

function ChapterText({ chapter: { markdown } }: { readonly chapter: Chapter }) {
  const blocks = parseMarkdown(markdown).filter(
    (block) => block.kind !== "heading" || block.level > 1,
  );
  return (
    <article>
      {blocks.map((block, index) => (
        // A chapter never changes while it is shown.
        <Shown key={String(index)} block={block} />
      ))}
    </article>
  );
}

function Shown({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "heading":
      return <h3>{block.text}</h3>;
    case "paragraph":
      return (
        <p>
          <Text text={block.text} />
        </p>
      );
    case "list":
      return (
        <ul>
          <Items texts={block.items} />
        </ul>
      );
    case "steps":
      return (
        <ol start={block.first}>
          <Items texts={block.items} />
        </ol>
      );
    case "code": {
      const text = here(block.lines.join("\n"));
      return (
        <div class="example">
          <pre>{text}</pre>
          <Copy text={text} name="example">
            Copy
          </Copy>
        </div>
      );
    }
  }
}

const Items = ({ texts }: { readonly texts: readonly string[] }) => (
  <>
    {texts.map((text) => (
      <li key={text}>
        <Text text={text} />
      </li>
    ))}
  </>
);

const Text = ({ text }: { readonly text: string }) => <Said text={here(text)} />;

/** The addresses of examples become those of this instance. */
const here = (text: string): string =>
  text
    .replaceAll("https://pki.example.com", location.origin)
    .replaceAll("https://localhost:8443", location.origin);

const foundMax = 100;
