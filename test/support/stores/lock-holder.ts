/** Another program that has the write lock of a database, and lets go when it is told. */

export interface LockHolder {
  /** Resolves when the lock is free and the program has ended. */
  letGo(): Promise<void>;
}

/** Resolves when the lock is taken. */
export async function holdWriteLock(database: string): Promise<LockHolder> {
  const child = Bun.spawn([process.execPath, "-e", script, database], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  if (new TextDecoder().decode(value).trim() !== "held") throw new Error("the lock is not held");
  return {
    letGo: async () => {
      await child.stdin.end();
      await child.exited;
    },
  };
}

const script = `const { Database } = await import("bun:sqlite");
  const database = new Database(process.argv[1]);
  database.run("pragma busy_timeout = 5000");
  database.run("begin immediate");
  console.log("held");
  await Bun.stdin.text();
  database.run("rollback");
  database.close();`;
