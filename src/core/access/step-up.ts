/**
 * WHAT A PASSKEY CONFIRMS: the names of what people in a session are asked to confirm before it is
 * done.
 */

/**
 * `default`: guarded unless configured otherwise; `eligible`: only when configured; `always`:
 * configured or not.
 */
export const stepUpNames = {
  "cert.revoke": "default",
  "cert.revoke_bulk": "default",
  "ca.init_root": "default",
  "ca.issue_intermediate": "default",
  "ca.cross_sign": "default",
  "ca.manage": "default",
  "ca.rotate": "default",
  "ca.retire": "default",
  "kek.rotate": "default",
  "token.create": "default",
  "grant.change": "default",
  "approval.approve": "default",
  "hsm.factory_reset": "default",
  "cert.issue_bulk": "eligible",
  "ca.csr": "eligible",
  "ca.import_cert": "eligible",
  "ssh.ca_init": "eligible",
  "ssh.revoke": "eligible",
  "key.block": "eligible",
  "webhook.create": "eligible",
  "session.end": "eligible",
  "eab.create": "eligible",
  "webauthn.register": "always",
  "webauthn.remove": "always",
} as const satisfies Record<string, "default" | "eligible" | "always">;

export type StepUpName = keyof typeof stepUpNames;

/** What `auth.webauthn.step_up_operations` may name. */
export const configurableStepUps: readonly StepUpName[] = namesOf("default", "eligible");

/** What is guarded when it names nothing. */
export const usualStepUps: readonly StepUpName[] = namesOf("default");

/** What is guarded whatever it names. */
export const fixedStepUps: readonly StepUpName[] = namesOf("always");

function namesOf(...kinds: readonly string[]): readonly StepUpName[] {
  const names = Object.keys(stepUpNames) as StepUpName[]; // The keys of the table.
  return names.filter((name) => kinds.includes(stepUpNames[name]));
}
