/** Reads from a Containerfile how its image is run, for an image that is made without a builder. */

/** The part of an OCI image configuration that says how to run it. */
export interface RunSettings {
  readonly User: string;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Volumes: Readonly<Record<string, object>>;
  readonly WorkingDir: string;
  readonly StopSignal: string;
}

/**
 * Takes the text of a Containerfile and gives what its image is run with. Refuses an instruction
 * that is not one of an image without a base: nothing runs while it is made, and it has one layer.
 */
export function runSettings(containerfile: string): RunSettings {
  const said = new Map<string, string>();
  for (const line of containerfile.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, instruction = "", rest = ""] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    const fixed = onlyAs[instruction];
    if (!known.has(instruction) || (fixed !== undefined && rest !== fixed)) {
      throw new Error(`${line}: an image made without a builder cannot do this`);
    }
    if (said.has(instruction)) throw new Error(`${line}: ${instruction} was said before`);
    said.set(instruction, rest);
  }
  const word = (instruction: string): string => {
    const found = said.get(instruction);
    if (found === undefined) throw new Error(`the Containerfile does not say ${instruction}`);
    return found;
  };
  return {
    User: word("USER"),
    ExposedPorts: { [`${word("EXPOSE")}/tcp`]: {} },
    Env: [word("ENV")],
    Entrypoint: JSON.parse(word("ENTRYPOINT")),
    Cmd: JSON.parse(word("CMD")),
    Volumes: Object.fromEntries(JSON.parse(word("VOLUME")).map((path: string) => [path, {}])),
    WorkingDir: word("WORKDIR"),
    StopSignal: word("STOPSIGNAL"),
  };
}

/** What the archive does whatever the Containerfile says; another word would not be heeded. */
const onlyAs: Readonly<Record<string, string>> = { FROM: "scratch", ADD: "files.tar /" };

const known: ReadonlySet<string> = new Set([
  "FROM",
  "ADD",
  "USER",
  "WORKDIR",
  "ENV",
  "VOLUME",
  "EXPOSE",
  "STOPSIGNAL",
  "ENTRYPOINT",
  "CMD",
]);
