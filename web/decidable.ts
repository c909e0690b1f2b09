/** What waits for the caller's decision: how many there are, as the server says, and where. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import { useAsked } from "#web/ui/asked.tsx";
import { type Address, hrefOf } from "./address.ts";
import type { Reply } from "./api.ts";
import { useConsole } from "./console.ts";
import { rightByRoles } from "./rights.ts";

/**
 * Asks for those of the chosen tenant, once for the frame, which gives the answer to its pages:
 * `total` says how many they are. Nothing is asked for whoever can decide on none.
 */
export function useAskedDecidable(live: readonly string[]): Decidable {
  const known = useConsole();
  const { tenant } = known.address.query;
  const may = rightByRoles(known, "approval.approve").allowed;
  const members = may ? { decidable: true, tenant, limit: 1 } : undefined;
  return useAsked("approval.list", members, live).reply;
}

type Decidable = Reply<Answers["approval.list"]> | undefined;

/** The same as the frame knows them. */
export const DecidableContext = createContext<Decidable>(undefined);
export const useDecidable = (): Decidable => useContext(DecidableContext);

/** The part of the page of approvals that lists them. */
export const inboxHref = ({ tenant }: Address["query"]): string =>
  hrefOf(["approvals"], { decidable: true, tenant });
