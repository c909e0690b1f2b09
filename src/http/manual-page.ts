/** The page that shows people the whole manual; no script. */

import { type Block, type Chapter, parseMarkdown, spansOf } from "#core/manual/markdown.ts";

import { escaped } from "./docs-page.ts";

/** The page, HTML. */
export function manualPage(chapters: readonly Chapter[], style: string): string {
  const links = chapters.map(
    ({ name, title }) => `<li><a href="#${escaped(name)}">${escaped(title)}</a>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>pkid: manual</title>
<style>${style}</style>
<h1>Manual</h1>
<p>The same on a terminal: <code>pkid manual</code>. Operations are <a href="/docs">described</a> on a page of their own.</p>
<ul>
${links.join("\n")}
</ul>
${chapters.map(chapterHtml).join("\n")}
</html>
`;
}

const chapterHtml = ({ name, markdown }: Chapter): string =>
  parseMarkdown(markdown)
    .map((block) => blockHtml(block, name))
    .join("\n");

function blockHtml(block: Block, chapter: string): string {
  switch (block.kind) {
    case "heading": {
      const text = inline(block.text);
      return block.level === 1 ? `<h2 id="${escaped(chapter)}">${text}</h2>` : `<h3>${text}</h3>`;
    }
    case "paragraph":
      return `<p>${inline(block.text)}</p>`;
    case "list":
      return `<ul>\n${items(block.items)}\n</ul>`;
    case "steps":
      return `<ol start="${block.first}">\n${items(block.items)}\n</ol>`;
    case "code":
      return `<pre><code>${escaped(block.lines.join("\n"))}</code></pre>`;
  }
}

const items = (texts: readonly string[]): string =>
  texts.map((text) => `<li>${inline(text)}`).join("\n");

const inline = (text: string): string =>
  spansOf(text)
    .map((span) => (span.code ? `<code>${escaped(span.text)}</code>` : escaped(span.text)))
    .join("");
