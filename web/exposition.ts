/** Reads figures in the text exposition format, as `/metrics` answers them. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Every sample of the text; a line that is none is passed over. */
export function samplesIn(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => sampleOf(line) ?? []);
}

/** The sum of a metric over the labels that are given. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  wanted: Readonly<Record<string, string>> = {},
): number {
  return samples
    .filter((sample) => sample.name === name)
    .filter(({ labels }) => Object.entries(wanted).every(([label, is]) => labels[label] === is))
    .reduce((sum, { value }) => sum + value, 0);
}

function sampleOf(line: string): Sample | undefined {
  const [, name, within = "", text] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
  const value = Number(text);
  if (name === undefined || Number.isNaN(value)) return undefined;
  const labels = [...within.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(
    ([, label = "", quoted = ""]) => [label, unquoted(quoted)],
  );
  return { name, labels: Object.fromEntries(labels), value };
}

const unquoted = (text: string): string =>
  text.replace(/\\(.)/g, (_, after: string) => (after === "n" ? "\n" : after));
