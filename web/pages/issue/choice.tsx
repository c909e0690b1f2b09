/** Who signs and as what: the CA, the profile with its rules, and how long it lives. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { hrefOf, hrefWith, type QueryChange, visit } from "#web/address.ts";
import type { Reply } from "#web/api.ts";
import { useAddress } from "#web/console.ts";
import { Outcome, useAsked, Waiting } from "#web/ui/asked.tsx";
import { CaChoice } from "#web/ui/ca-choice.tsx";
import { Copy } from "#web/ui/copy.tsx";
import { Field } from "#web/ui/form.tsx";
import { type Ca, type NamedCa, useNamedCa } from "#web/ui/named-ca.ts";
import { shortText } from "#web/ui/plain.ts";
import { Day } from "#web/ui/time.tsx";
import { type Profile, ProfileRules } from "./profile-rules.tsx";

/** What the address chooses, of what there is. */
export interface Choice {
  readonly ca: Ca;
  readonly profile: Profile;
  /** Undefined takes what the profile has. */
  readonly days: number | undefined;
  readonly mustStaple: boolean | undefined;
  /** Why nothing may be sent with it, though all of it is known. */
  readonly barred: string | undefined;
}

interface ChosenProps {
  readonly children: (choice: Choice, known: Known) => ComponentChildren;
}

export interface Known {
  readonly profiles: readonly Profile[];
  /** What is wrong with the CA that the address names. */
  readonly caFault: string | undefined;
}

/**
 * Draws once it is known what the address names. An address that names nothing is made to name the
 * newest CA and the usual profile when the page opens; from then on nothing but the person changes
 * them.
 */
export function Chosen({ children }: ChosenProps) {
  const { ca, profile, days, staple, operation } = useAddress().query;
  const profiles = useAsked("profile.list", {});
  const known = profiles.reply?.kind === "answered" ? profiles.reply.answer.items : [];
  const named = useNamedCa(ca);
  // What stands on a CA stays while another is asked for, and when this one is gone.
  const last = useRef<Ca | undefined>(undefined);
  if (named.ca !== undefined) last.current = named.ca;
  if (profiles.reply === undefined) return <Waiting />;
  if (profiles.reply.kind !== "answered") {
    return <Outcome reply={profiles.reply} again={profiles.refresh} />;
  }
  if (ca === undefined && operation !== undefined) return <RunOfNoCa />;
  // Drawn anew each time, so that what was newest an hour ago is not taken for it now.
  if (ca === undefined || profile === undefined) return <Pinning profiles={known} />;
  const chosenCa = named.ca ?? last.current;
  const chosenProfile = known.find(({ name }) => name === profile);
  const caFault = faultOfCa(ca, named);
  if (chosenCa === undefined && caFault === undefined) return <Waiting />;
  const faults = { profiles: known, caFault };
  if (chosenCa === undefined || chosenProfile === undefined) {
    return <Unchosen named={named} profile={chosenProfile} known={faults} />;
  }
  const mustStaple = chosenProfile.allow_must_staple_override ? flagOf(staple) : undefined;
  const barred = caFault ?? (named.ca === undefined ? "The CA is being asked for." : undefined);
  const choice = { ca: chosenCa, profile: chosenProfile, days: daysIn(days), mustStaple, barred };
  return (
    <>
      <Outcome reply={named.refused} again={named.again} />
      {children(choice, faults)}
    </>
  );
}

/** Writes the newest CA and the usual profile into an address that names none. */
function usePinned(profiles: readonly Profile[]) {
  const address = useAddress();
  const { ca, profile, tenant } = address.query;
  const first = { status: "active", limit: 1, tenant };
  const { reply, refresh } = useAsked("ca.list", ca === undefined ? first : undefined);
  const newest = reply?.kind === "answered" ? reply.answer.items[0]?.id : undefined;
  const usual = profiles.find(({ name }) => name === "server") ?? profiles[0];
  const pinned = { ca: ca ?? newest, profile: profile ?? usual?.name };
  const isWhole = pinned.ca !== undefined && pinned.profile !== undefined;
  const isNew = pinned.ca !== ca || pinned.profile !== profile;
  useEffect(() => {
    if (isWhole && isNew) visit(hrefWith(address, pinned), { replace: true });
  }, [isWhole, isNew, address]);
  return { newest: reply, refresh };
}

/** Until the address names what is meant; that never comes where there is no CA. */
function Pinning({ profiles }: { readonly profiles: readonly Profile[] }) {
  const { newest, refresh } = usePinned(profiles);
  if (newest?.kind === "refused") return <Outcome reply={newest} again={refresh} />;
  const isEmpty = newest?.kind === "answered" && newest.answer.items.length === 0;
  return isEmpty ? <NoCa /> : <Waiting />;
}

/** A run goes on with its own CA alone: with another one everything would be issued twice. */
function RunOfNoCa() {
  const address = useAddress();
  return (
    <div class="notice warn">
      <p>This address names a run and not its CA, so the run cannot go on here.</p>
      <p>
        <a href={hrefWith(address, { operation: undefined })}>Begin another run</a>
      </p>
    </div>
  );
}

interface UnchosenProps {
  readonly named: NamedCa;
  readonly profile: Profile | undefined;
  readonly known: Known;
}

/** The address names what cannot be used: nothing is chosen in its place, and nothing is sent. */
function Unchosen({ named, profile, known }: UnchosenProps) {
  const reasonId = useId();
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <Outcome reply={named.refused} again={named.again} />
      <CaField ca={named.ca} known={known} reply={undefined} />
      <ProfileField profile={profile} known={known} reply={undefined} />
      <div class="buttons">
        <button type="submit" class="button primary" disabled aria-describedby={reasonId}>
          Issue
        </button>
      </div>
      <p id={reasonId} class="reason">
        Choose what this address names and cannot be used.
      </p>
    </form>
  );
}

function faultOfCa(name: string, { ca, refused }: NamedCa): string | undefined {
  if (refused !== undefined) {
    return `The CA “${shortText(name)}”, which the address names, cannot be used. Choose another.`;
  }
  if (ca === undefined || ca.status === "active") return undefined;
  return `The CA “${ca.label}” is ${ca.status} and issues nothing. Choose another.`;
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
      <CaField ca={ca} known={known} reply={reply} fixed={fixed} />
      <ProfileField profile={profile} known={known} reply={reply} fixed={fixed} />
      <Field
        label="Valid for days"
        member="validity_days"
        reply={reply}
        hint={keptBy(fixed, lifetime(profile))}
      >
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

interface CaFieldProps {
  readonly ca: Ca | undefined;
  readonly known: Known;
  readonly reply: Reply<unknown> | undefined;
  readonly fixed?: boolean;
}

/** Chooses nothing where what the address names cannot be used. */
function CaField({ ca, known: { caFault }, reply, fixed = false }: CaFieldProps) {
  const { query } = useAddress();
  const change = useChange();
  const label = "Certificate authority";
  const expires = ca !== undefined && (
    <>
      Expires <Day at={ca.not_after} />.
    </>
  );
  const hint = keptBy(fixed, expires);
  return (
    <Field label={label} member="id" reply={reply} hint={hint} fault={caFault}>
      {(control) => (
        <CaChoice
          control={control}
          label={label}
          value={caFault === undefined ? (query.ca ?? "") : ""}
          status="active"
          tenant={query.tenant}
          disabled={fixed}
          needed
          onChoose={(id) => change({ ca: id })}
        />
      )}
    </Field>
  );
}

interface ProfileFieldProps {
  readonly profile: Profile | undefined;
  readonly known: Known;
  readonly reply: Reply<unknown> | undefined;
  readonly fixed?: boolean;
}

/** With its rules; another profile has other days. */
function ProfileField({ profile, known, reply, fixed = false }: ProfileFieldProps) {
  const { query } = useAddress();
  const change = useChange();
  const fault =
    profile === undefined
      ? `There is no profile “${shortText(query.profile ?? "")}”. Choose another.`
      : undefined;
  return (
    <>
      <Field
        label="Profile"
        member="profile"
        reply={reply}
        hint={keptBy(fixed, profile?.description)}
        fault={fault}
      >
        {(control) => (
          <select
            {...control}
            value={profile?.name ?? ""}
            disabled={fixed}
            onChange={({ currentTarget }) =>
              change({ profile: currentTarget.value, days: undefined, staple: undefined })
            }
          >
            {profile === undefined && <option value="">Choose a profile…</option>}
            {known.profiles.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {profile !== undefined && <ProfileRules profile={profile} />}
    </>
  );
}

function useChange(): (members: QueryChange) => void {
  const address = useAddress();
  return (members) => visit(hrefWith(address, members), { replace: true });
}

function NoCa() {
  const { query } = useAddress();
  return (
    <div class="empty">
      <p>No certificate authority that you can see is active, so there is nothing to issue with.</p>
      <a class="button primary" href={hrefOf(["authorities"], { tenant: query.tenant })}>
        Go to the authorities
      </a>
      <Copy text="pkid ca init-root --label root --cn 'Example Root'" name="command" />
    </div>
  );
}

const lifetime = ({ default_validity_days: usual, max_validity_days: most }: Profile): string =>
  most === 0
    ? `${usual} where nothing is typed.`
    : `${usual} where nothing is typed, ${most} at most.`;

/** Beside what a run that has begun keeps, the same is said as the reason. */
const keptBy = (fixed: boolean, hint: ComponentChildren): ComponentChildren => (
  <>
    {fixed && `${runKeepsIt} `}
    {hint}
  </>
);

/** Why a field cannot be changed any more. */
export const runKeepsIt = "The run that has begun keeps it.";

const flagOf = (word: string | undefined): boolean | undefined =>
  word === undefined ? undefined : word === "true";

const daysIn = (text = ""): number | undefined =>
  /^\d{1,6}$/.test(text) ? Number(text) : undefined;
