/** A state by word and sign, never by colour alone. */

const signs = {
  good: ["●", "good"],
  warn: ["◐", "warn"],
  bad: ["○", "bad"],
  quiet: ["◌", "quiet"],
} as const;
export type Tone = keyof typeof signs;

/** Every state word of the interface that is not plain. */
const tones: Readonly<Record<string, Tone>> = {
  good: "good",
  active: "good",
  up: "good",
  ok: "good",
  pass: "good",
  ready: "good",
  success: "good",
  valid: "good",
  executed: "good",
  approved: "good",
  enabled: "good",
  included: "good",
  leader: "good",
  follower: "good",
  held: "warn",
  warn: "warn",
  warning: "warn",
  pending: "warn",
  executing: "warn",
  retiring: "warn",
  superseded: "warn",
  suspended: "warn",
  critical: "bad",
  fail: "bad",
  failed: "bad",
  error: "bad",
  denied: "bad",
  revoked: "bad",
  rejected: "bad",
  expired: "bad",
  invalid: "bad",
  down: "bad",
  not_ready: "bad",
};

/** The wire says `held` of a certificate; people say suspended. */
export const statusWord = (status: string): string => (status === "held" ? "suspended" : status);

/** The word with the sign of its tone; a word that is not known is plain. */
export function Status({ word, tone = tones[word] ?? "quiet" }: { word: string; tone?: Tone }) {
  const [sign, name] = signs[tone];
  return (
    <span class={`state ${name}`}>
      <span aria-hidden="true">{sign}</span> {word.replaceAll("_", " ")}
    </span>
  );
}
