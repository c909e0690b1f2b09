/** Startup validation of client certificates: V-8 and V-9. */

import { type BindingRow, bindingsOf, selectorsOf } from "#core/access/binding-rows.ts";
import { selects } from "#core/access/client-bindings.ts";
import { isVisible, reservedSubject } from "#core/access/subject.ts";
import { parseRole, roles } from "#core/access/roles.ts";

import { type Environment, insecureHttpAllowed } from "./environment.ts";
import type { Fault } from "./faults.ts";
import type { Config } from "./schema.ts";

/** Every fault of `auth.mtls`; while it is off it may be incomplete. */
export function clientFaults(
  { auth: { mtls }, server }: Pick<Config, "auth" | "server">,
  env: Environment,
  isSet: (path: string) => boolean,
): readonly Fault[] {
  if (!mtls.enabled) return [];
  const faults: Fault[] = [];
  const selfIssueAsked = server.tls.self_issue.enabled && isSet("server.tls.self_issue.enabled");
  if (insecureHttpAllowed(env) && server.tls_cert === undefined && !selfIssueAsked) {
    const sentence = "Needs TLS on server.port, which PKID_ALLOW_INSECURE_HTTP switches off.";
    faults.push(fault("auth.mtls.enabled", sentence));
  }
  if (mtls.ca_file === undefined) {
    faults.push(fault("auth.mtls.ca_file", "Must be set, because auth.mtls.enabled is true."));
  }
  const wrong = mtls.bindings.flatMap(bindingFaults);
  if (wrong.length === 0 && bindingsOf(mtls.bindings).length === 0) {
    const sentence = "Needs an entry with a selector, because auth.mtls.enabled is true.";
    faults.push(fault("auth.mtls.bindings", sentence));
  }
  return [...faults, ...wrong];
}

/** What is passed over, and so does less than it seems to. */
export function clientWarnings({ auth: { mtls } }: Pick<Config, "auth">): readonly string[] {
  if (!mtls.enabled) return [];
  return mtls.bindings.flatMap((setting, index) =>
    selects(selectorsOf(setting))
      ? []
      : [`auth.mtls.bindings[${index}]: The entry has no selector and is dropped.`],
  );
}

/** An entry without selector is dropped, and therefore not looked at. */
function bindingFaults(setting: BindingRow, index: number): readonly Fault[] {
  if (!selects(selectorsOf(setting))) return [];
  const at = `auth.mtls.bindings[${index}]`;
  const { subject, roles: platform, tenant_roles } = setting;
  const lists = [
    [`${at}.roles`, platform] as const,
    ...Object.entries(tenant_roles).map(
      ([of, named]) => [`${at}.tenant_roles.${of}`, named] as const,
    ),
  ];
  const unknown = lists.filter(([, named]) => named.some((one) => parseRole(one) === undefined));
  const wrong = wrongSubject(subject);
  return [
    ...(wrong === undefined ? [] : [fault(`${at}.subject`, wrong)]),
    ...unknown.map(([path]) => fault(path, `Every role must be one of ${roles.join(", ")}.`)),
  ];
}

/** An entry of the configuration must not act as root, or as somebody's token. */
function wrongSubject(subject: string | undefined): string | undefined {
  if (subject === undefined) return "Must be set.";
  if (subject.length > 256) return "Must have at most 256 characters.";
  if (!isVisible(subject)) return "Must have no control, format or invisible character.";
  return reservedSubject(subject) ? "Means something inside pkid; take another name." : undefined;
}

const fault = (path: string, sentence: string): Fault => ({ path, sentence });
