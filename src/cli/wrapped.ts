/** Breaks a text into lines that fit a number of columns. */

/**
 * The lines of the text, broken between words; a word that is wider than a line, as a path may be,
 * is broken within. `room` is in columns, at least 2, as a character may take two of them.
 */
export function wrapped(text: string, room: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((one) => broken(one, room))) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (Bun.stringWidth(longer) > room && line !== "") {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

function broken(word: string, room: number): readonly string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const character of word) {
    if (piece !== "" && Bun.stringWidth(piece + character) > room) {
      pieces.push(piece);
      piece = character;
    } else piece += character;
  }
  return [...pieces, piece];
}
