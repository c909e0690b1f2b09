/** Chooses a certificate authority the caller may see. */

import { useAsked } from "./asked.tsx";

interface CaChoiceProps {
  readonly id?: string;
  readonly label: string;
  /** The CA's id; empty for none. */
  readonly value: string;
  /** Only those of this state. */
  readonly status?: string;
  readonly onChoose: (id: string) => void;
}

/** The 500 newest by their labels. */
export function CaChoice({ id, label, value, status, onChoose }: CaChoiceProps) {
  const { reply } = useAsked("ca.list", { limit: 500, status }, ["ca.*"]);
  const cas = reply?.kind === "answered" ? reply.answer.items : [];
  return (
    <select
      id={id}
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      <option value="">Choose a CA…</option>
      {cas.map((ca) => (
        <option key={ca.id} value={ca.id}>
          {ca.label}
          {ca.status === "active" ? "" : ` (${ca.status})`}
        </option>
      ))}
    </select>
  );
}
