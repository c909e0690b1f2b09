/** What the thread that reads a configuration is started with. */

/** Tells it from other threads of the binary. */
export interface YamlJob {
  readonly yaml: { readonly text: string; readonly name: string };
}

/** True for the data a thread of this kind is started with. */
export const isYamlJob = (job: unknown): job is YamlJob =>
  typeof job === "object" && job !== null && "yaml" in job;
