/** The subject of a CA as fields. */

import type { Reply } from "#web/api.ts";
import { TextField } from "#web/ui/fields.tsx";
import { attributes, type TypedSubject } from "./ca-form.ts";
import { neededIn } from "./typed.tsx";

interface SubjectFieldsProps {
  readonly typed: TypedSubject;
  readonly change: (change: Partial<TypedSubject>) => void;
  readonly reply: Reply<unknown> | undefined;
}

/** One field for each attribute; only the name must be given. Refusals name the attribute alone. */
export const SubjectFields = ({ typed, change, reply }: SubjectFieldsProps) => (
  <div class="pairs">
    {attributes.map(([name, label]) => (
      <TextField
        key={name}
        label={label}
        member={name}
        reply={reply}
        value={typed[name]}
        onChange={(value) => change({ [name]: value })}
        hint={hints[name]}
        needed={name === "cn" ? neededIn(typed.cn, "Type a common name.") : undefined}
      />
    ))}
  </div>
);

const hints: Readonly<Record<string, string>> = { cn: "Must be given.", c: "Two capital letters." };
