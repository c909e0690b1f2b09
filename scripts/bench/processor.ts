/** Processor time, which a machine that is shared makes a process wait for, but does not add to. */

/** What the process has computed, in user and system mode. */
export async function processorSeconds(pid: number): Promise<number> {
  const fields = (await Bun.file(`/proc/${pid}/stat`).text()).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
