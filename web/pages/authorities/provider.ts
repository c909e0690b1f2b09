/** What the key provider of this instance is and can make. */

import { useAside } from "#web/ui/asked.tsx";
import type { Provider } from "./key-choices.ts";

/** Undefined until it has answered, and where one may not ask. */
export function useProvider(): Provider {
  const { reply } = useAside("hsm.info", {});
  return reply?.kind === "answered" ? reply.answer : undefined;
}
