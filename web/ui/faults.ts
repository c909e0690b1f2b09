/** Which field a refusal is about, and what is wrong with it. */

import type { Reply } from "#web/api.ts";

/** What is wrong with this member, as a sentence; undefined where the refusal is not about it. */
export function faultOf(reply: Reply<unknown> | undefined, member: string): string | undefined {
  if (reply?.kind !== "refused") return undefined;
  const { facts, sentence } = reply.refusal;
  const named = typeof facts.field === "string" ? facts.field : facts.parameter;
  if (typeof named !== "string") return undefined;
  if (named !== member && !named.startsWith(`${member}.`) && !named.startsWith(`${member}[`)) {
    return undefined;
  }
  return typeof facts.reason === "string" ? sentenceOf(facts.reason) : sentence;
}

/** `must match …` as a person writes it. */
export function sentenceOf(reason: string): string {
  const text = reason.trim();
  const end = text === "" || /[.!?…]$/.test(text) ? "" : ".";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${end}`;
}
