/** Destroys keys that nothing came of, without hiding why nothing did. */

/**
 * False when a key stays, which `Keys` then has put in the log by its label: its caller is about to
 * say what went wrong first, and that must not be replaced by what went wrong while tidying up.
 */
export async function discarded(destroy: () => Promise<void>): Promise<boolean> {
  try {
    await destroy();
    return true;
  } catch {
    // Told by the key provider itself, with the key's name.
    return false;
  }
}
