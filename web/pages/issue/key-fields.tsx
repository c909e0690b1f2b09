/** The part of the form for a key made here: its kind, the names, and the subject. */

import { useEffect, useState } from "preact/hooks";
import { hrefWith, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { Fingerprint } from "#web/ui/copy.tsx";
import { Field } from "#web/ui/form.tsx";
import { type KeyType, keyKinds, keyTypes, keyTypesHere, parseKeyType } from "./key-types.ts";
import { allNames, NameChips, type Names, noNames } from "./name-chips.tsx";
import { commonNameFor, commonNameMax } from "./names.ts";
import type { PageKey } from "./page-key.ts";
import type { SubjectField, Wanted } from "./requests.ts";

/** What is typed. */
export interface KeyForm {
  readonly names: Names;
  readonly commonName: string;
  readonly subject: Wanted["subject"];
}

export const noKeyForm: KeyForm = { names: noNames, commonName: "", subject: {} };

/** What a request would say; undefined while there is no name at all. */
export function wantedOf({ names, commonName, subject }: KeyForm): Wanted | undefined {
  const all = allNames(names);
  const common = commonNameFor(commonName, all);
  if (common === "" && all.length === 0) return undefined;
  return { commonName: common, subject, names: all };
}

interface KeyFieldsProps {
  readonly form: KeyForm;
  readonly onChange: (form: KeyForm) => void;
  readonly made: PageKey | undefined;
  readonly fault: string | undefined;
  readonly reply: Reply<unknown> | undefined;
}

/** The kind of key stands in the address, the rest is being typed. */
export function KeyFields({ form, onChange, made, fault, reply }: KeyFieldsProps) {
  const { names, commonName, subject } = form;
  const shown = commonNameFor("", allNames(names));
  return (
    <>
      <KeyTypeField made={made} fault={fault} reply={reply} />
      <NameChips
        names={names}
        onChange={(changed) => onChange({ ...form, names: changed })}
        reply={reply}
      />
      <Field
        label="Common name"
        member="common_name"
        reply={reply}
        hint={shown === "" ? "What the subject is called." : "The first name, where empty."}
      >
        {(control) => (
          <input
            {...control}
            type="text"
            maxLength={commonNameMax}
            placeholder={shown}
            value={commonName}
            onInput={({ currentTarget }) => onChange({ ...form, commonName: currentTarget.value })}
          />
        )}
      </Field>
      <details>
        <summary>More of the subject</summary>
        {subjectFields.map(([field, label, most]) => (
          <Field key={field} label={label}>
            {(control) => (
              <input
                {...control}
                type="text"
                maxLength={most}
                value={subject[field] ?? ""}
                onInput={({ currentTarget: { value } }) =>
                  onChange({ ...form, subject: { ...subject, [field]: value } })
                }
              />
            )}
          </Field>
        ))}
      </details>
    </>
  );
}

type KeyTypeFieldProps = Pick<KeyFieldsProps, "made" | "fault" | "reply">;

function KeyTypeField({ made, fault, reply }: KeyTypeFieldProps) {
  const address = useAddress();
  const [here, setHere] = useState<readonly KeyType[]>(keyTypes);
  useEffect(() => void keyTypesHere().then(setHere), []);
  const chosen = parseKeyType(address.query.key) ?? "ecdsa-p256";
  return (
    <Field
      label="Kind of key"
      member="key"
      reply={reply}
      fault={fault}
      hint={
        made === undefined ? (
          "It is made here, with the first name, and never leaves this tab but encrypted."
        ) : (
          <>
            Made in this tab: <Fingerprint text={made.fingerprint} />
          </>
        )
      }
    >
      {(control) => (
        <select
          {...control}
          value={chosen}
          onChange={({ currentTarget }) =>
            visit(hrefWith(address, { key: currentTarget.value }), { replace: true })
          }
        >
          {keyTypes.map((type) => (
            <option key={type} value={type} disabled={!here.includes(type)}>
              {keyKinds[type].label}
              {here.includes(type) ? "" : " (not in this browser)"}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** With their bounds (RFC 5280 appendix A.1). */
const subjectFields: readonly (readonly [SubjectField, string, number])[] = [
  ["O", "Organisation", 64],
  ["OU", "Unit", 64],
  ["L", "Locality", 128],
  ["ST", "State or province", 128],
  ["C", "Country, two letters", 2],
];
