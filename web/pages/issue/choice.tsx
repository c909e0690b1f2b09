/** Who signs and as what: the CA, the profile with its rules, and how long it lives. */

import type { ComponentChildren } from "preact";
import type { Answers } from "#api/answers.ts";
import { hrefWith, type QueryChange, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { Field } from "#web/ui/form.tsx";
import { type Profile, ProfileRules } from "./profile-rules.tsx";

export type Ca = Answers["ca.list"]["items"][number];

/** What the address chooses, of what there is. */
export interface Choice {
  readonly ca: Ca;
  readonly profile: Profile;
  /** Undefined takes what the profile has. */
  readonly days: number | undefined;
  readonly mustStaple: boolean | undefined;
}

interface ChosenProps {
  readonly children: (choice: Choice, known: Known) => ComponentChildren;
}

export interface Known {
  readonly cas: readonly Ca[];
  readonly profiles: readonly Profile[];
}

/** Draws once it is known which CAs and profiles there are. */
export function Chosen({ children }: ChosenProps) {
  const { ca, profile, days, staple, tenant } = useAddress().query;
  const within = tenant === undefined ? {} : { tenant };
  const cas = useAsked("ca.list", { status: "active", limit: 500, ...within }, ["ca.*"]);
  const profiles = useAsked("profile.list", {});
  if (cas.reply === undefined || profiles.reply === undefined) return <Waiting />;
  if (cas.reply.kind !== "answered") return <Outcome reply={cas.reply} />;
  if (profiles.reply.kind !== "answered") return <Outcome reply={profiles.reply} />;
  const known = { cas: cas.reply.answer.items, profiles: profiles.reply.answer.items };
  const chosenCa = known.cas.find(({ id, label }) => id === ca || label === ca) ?? known.cas[0];
  const chosenProfile =
    known.profiles.find(({ name }) => name === profile) ??
    known.profiles.find(({ name }) => name === "server") ??
    known.profiles[0];
  if (chosenCa === undefined || chosenProfile === undefined) return <NoCa />;
  const mustStaple = chosenProfile.allow_must_staple_override ? flagOf(staple) : undefined;
  const choice = { ca: chosenCa, profile: chosenProfile, days: daysIn(days), mustStaple };
  return children(choice, known);
}

interface ChoiceFieldsProps {
  readonly choice: Choice;
  readonly known: Known;
  readonly reply: Reply<unknown> | undefined;
  /** A run that has begun keeps what it began with. */
  readonly fixed?: boolean;
  /** Of many at once, whose items take must-staple from the profile alone. */
  readonly many?: boolean;
}

/** The fields whose values stand in the address. */
export function ChoiceFields(props: ChoiceFieldsProps) {
  const { choice, known, reply, fixed = false, many = false } = props;
  const { ca, profile, days, mustStaple } = choice;
  const change = useChange();
  return (
    <>
      <Field label="Certificate authority" member="id" reply={reply} hint={`Expires ${until(ca)}.`}>
        {(control) => (
          <select
            {...control}
            value={ca.id}
            disabled={fixed}
            onChange={({ currentTarget }) => change({ ca: currentTarget.value })}
          >
            {known.cas.map(({ id, label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <ProfileField {...props} />
      <Field label="Valid for days" member="validity_days" reply={reply} hint={lifetime(profile)}>
        {(control) => (
          <input
            {...control}
            type="number"
            min={1}
            disabled={fixed}
            placeholder={String(profile.default_validity_days)}
            value={days}
            onInput={({ currentTarget }) => change({ days: currentTarget.value })}
          />
        )}
      </Field>
      {profile.allow_must_staple_override && !many && (
        <label class="check">
          <input
            type="checkbox"
            checked={mustStaple ?? profile.must_staple}
            disabled={fixed}
            onChange={({ currentTarget }) => change({ staple: currentTarget.checked })}
          />
          Servers must staple an OCSP answer
        </label>
      )}
    </>
  );
}

/** With its rules; another profile has other days. */
function ProfileField({ choice: { profile }, known, reply, fixed = false }: ChoiceFieldsProps) {
  const change = useChange();
  return (
    <>
      <Field label="Profile" member="profile" reply={reply} hint={profile.description}>
        {(control) => (
          <select
            {...control}
            value={profile.name}
            disabled={fixed}
            onChange={({ currentTarget }) =>
              change({ profile: currentTarget.value, days: undefined, staple: undefined })
            }
          >
            {known.profiles.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <ProfileRules profile={profile} />
    </>
  );
}

function useChange(): (members: QueryChange) => void {
  const address = useAddress();
  return (members) => visit(hrefWith(address, members), { replace: true });
}

function NoCa() {
  return (
    <div class="empty">
      <p>No certificate authority that you can see is active, so there is nothing to issue with.</p>
      <a class="button primary" href="/console/authorities">
        Go to the authorities
      </a>
      <code>pkid ca init-root --help</code>
    </div>
  );
}

const lifetime = ({ default_validity_days: usual, max_validity_days: most }: Profile): string =>
  most === 0
    ? `${usual} where nothing is typed.`
    : `${usual} where nothing is typed, ${most} at most.`;

const until = ({ not_after }: Ca): string => not_after?.slice(0, 10) ?? "never";

const flagOf = (word: string | undefined): boolean | undefined =>
  word === undefined ? undefined : word === "true";

const daysIn = (text = ""): number | undefined =>
  /^\d{1,6}$/.test(text) ? Number(text) : undefined;
