/** Reads the files of AWS's own tools: profiles with their settings. */

/** Settings by name, of one profile. */
export type Profile = Readonly<Record<string, string>>;

/**
 * The profile of this name. In the configuration file all but `default` are headed `profile
 * <name>`, in the credentials file none is. Nested settings, comments and lines that are none of
 * these are passed over; undefined when no heading has the name.
 */
export function profileIn(
  text: string,
  name: string,
  file: "credentials" | "config",
): Profile | undefined {
  const wanted = new Set(file === "config" ? [`profile ${name}`] : [name]);
  if (name === "default") wanted.add("default");
  let current: Map<string, string> | undefined;
  let found: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const heading = /^\[([^\]]*)\]/.exec(line)?.[1];
    if (heading !== undefined) {
      const named = wanted.has(heading.trim().replace(/\s+/g, " "));
      if (named) found ??= new Map();
      current = named ? found : undefined;
      continue;
    }
    // A line that begins with a blank belongs to the setting above it.
    const at = line.indexOf("=");
    if (current === undefined || at < 1 || /^[\s#;]/.test(line)) continue;
    const [value = ""] = line.slice(at + 1).split(/\s[#;]/);
    current.set(line.slice(0, at).trim().toLowerCase(), value.trim());
  }
  return found && Object.fromEntries(found);
}
