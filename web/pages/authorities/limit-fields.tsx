/** What a new CA may certify: names, policies and purposes, folded away until they are wanted. */

import type { Reply } from "#web/api.ts";
import { CheckField, TextField } from "#web/ui/fields.tsx";
import { subtreeKinds, type TypedCa, type TypedSubtrees } from "./ca-form.ts";
import { LinesField } from "./typed.tsx";

interface LimitFieldsProps {
  readonly typed: TypedCa;
  readonly change: (change: Partial<TypedCa>) => void;
  readonly reply: Reply<unknown> | undefined;
  readonly root: boolean;
}

/** Both, as parts that open. */
export const LimitFields = (props: LimitFieldsProps) => (
  <>
    <ConstraintFields {...props} />
    <PolicyFields {...props} />
  </>
);

function ConstraintFields({ typed, change, reply }: LimitFieldsProps) {
  return (
    <details open={isAbout(reply, constraintMembers)}>
      <summary>Name constraints: which names it may certify</summary>
      <p class="quiet small">One entry a line. Nothing permitted means that everything is.</p>
      <Subtrees
        title="Permitted"
        typed={typed.permitted}
        change={(permitted) => change({ permitted })}
        reply={reply}
      />
      <Subtrees
        title="Excluded"
        typed={typed.excluded}
        change={(excluded) => change({ excluded })}
        reply={reply}
      />
      <CheckField
        label="Critical: software that does not understand them refuses the certificate"
        checked={typed.constraintsCritical}
        onChange={(constraintsCritical) => change({ constraintsCritical })}
      />
    </details>
  );
}

interface SubtreesProps {
  readonly title: string;
  readonly typed: TypedSubtrees;
  readonly change: (typed: TypedSubtrees) => void;
  readonly reply: Reply<unknown> | undefined;
}

const Subtrees = ({ title, typed, change, reply }: SubtreesProps) => (
  <fieldset>
    <legend>{title}</legend>
    <div class="pairs">
      {subtreeKinds.map(([kind, label, example]) => (
        <LinesField
          key={kind}
          label={`${title}: ${label}`}
          member={kind}
          // A refusal names the kind alone, so what is empty was not meant.
          reply={typed[kind] === "" ? undefined : reply}
          value={typed[kind]}
          onChange={(value) => change({ ...typed, [kind]: value })}
          placeholder={example}
        />
      ))}
    </div>
  </fieldset>
);

function PolicyFields({ typed, change, reply, root }: LimitFieldsProps) {
  return (
    <details open={isAbout(reply, policyMembers)}>
      <summary>{root ? "Policies" : "Policies and purposes"}</summary>
      <LinesField
        label="Policies"
        member="oids"
        reply={reply}
        value={typed.policies}
        onChange={(policies) => change({ policies })}
        placeholder="2.23.140.1.2.1"
        hint="Object identifiers, one a line."
      />
      <TextField
        label="Address of the practice statement"
        member="cps"
        reply={reply}
        value={typed.cps}
        onChange={(cps) => change({ cps })}
        placeholder="https://pki.example.com/cps"
      />
      <CheckField
        label="Policies are critical"
        checked={typed.policiesCritical}
        onChange={(policiesCritical) => change({ policiesCritical })}
      />
      {!root && <PolicyLimits typed={typed} change={change} reply={reply} />}
    </details>
  );
}

const PolicyLimits = ({ typed, change, reply }: Omit<LimitFieldsProps, "root">) => (
  <>
    <LinesField
      label="Mappings"
      member="mappings"
      reply={reply}
      value={typed.mappings}
      onChange={(mappings) => change({ mappings })}
      placeholder="1.2.3.4:1.2.3.5"
      hint="Policy of the issuer, colon, policy of the subject; one pair a line."
    />
    <div class="pairs">
      <TextField
        label="Policies required after"
        member="require_explicit_policy"
        reply={reply}
        value={typed.requireExplicitPolicy}
        onChange={(requireExplicitPolicy) => change({ requireExplicitPolicy })}
        hint="Certificates below that may still lack one."
      />
      <TextField
        label="No mapping after"
        member="inhibit_policy_mapping"
        reply={reply}
        value={typed.inhibitPolicyMapping}
        onChange={(inhibitPolicyMapping) => change({ inhibitPolicyMapping })}
        hint="Certificates below that may still map."
      />
    </div>
    <LinesField
      label="Purposes"
      member="ext_key_usages"
      reply={reply}
      value={typed.purposes}
      onChange={(purposes) => change({ purposes })}
      placeholder="serverAuth"
      hint="What leaves below it may be for, by word or object identifier; none leaves it open."
    />
  </>
);

/** A part whose field was refused is opened, so that the mark on it is seen. */
function isAbout(reply: Reply<unknown> | undefined, members: readonly string[]): boolean {
  if (reply?.kind !== "refused") return false;
  const { field } = reply.refusal.facts;
  const [name = ""] = typeof field === "string" ? field.split(/[.[]/) : [];
  return members.includes(name);
}

const constraintMembers = ["name_constraints", "permitted", "excluded"].concat(
  subtreeKinds.map(([kind]) => kind),
);
const policyMembers = [
  "policies",
  "oids",
  "cps",
  "mappings",
  "require_explicit_policy",
  "inhibit_policy_mapping",
  "ext_key_usages",
];
