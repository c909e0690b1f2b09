/** What an ACME client is told when its request was turned away before anybody read it. */

import type { Problem } from "#core/problems.ts";
import type { Acme } from "#domain/acme/open.ts";
import type { Refused } from "#http/public.ts";

import { problemResponse } from "./answers.ts";

/**
 * Says it in a problem document, with the directory that lies around the path (AC-5). One that was
 * posted has a nonce for the next request, like every answer to a POST (AC-4).
 */
export const acmeRefusal =
  ({ directories, freshNonce }: Pick<Acme, "directories" | "freshNonce">) =>
  (problem: Problem, { method, path }: Refused): Response => {
    const around = directories.all().find((one) => path.startsWith(`${one.path}/`));
    const response = problemResponse(problem, around?.url("/directory"));
    const nonce = around !== undefined && method === "POST" ? freshNonce() : undefined;
    if (nonce !== undefined) response.headers.set("replay-nonce", nonce);
    return response;
  };
