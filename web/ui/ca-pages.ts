/** Every CA that the caller may see, however many there are: one page of the list after another. */

import type { Answers, Questions } from "#api/answers.ts";
import type { Credential, Reply } from "#web/api.ts";
import { listPages, rowsMax } from "./list-pages.ts";

export type CaPage = Answers["ca.list"];

/**
 * The pages as they come, newest CA first. Where one cannot be had its refusal is the last thing
 * given.
 */
export const caPages = (
  members: Omit<Questions["ca.list"], "limit" | "cursor">,
  credential: Credential,
  signal: AbortSignal,
): AsyncGenerator<Reply<CaPage>, undefined> => listPages("ca.list", members, credential, signal);

/** One page of the interface. */
export const casMax = rowsMax;
