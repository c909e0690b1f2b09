/**
 * `pkid grant`: gives and takes back roles on single CAs, and tells what somebody may do on one.
 */

import { type Args, choice, type Given, required, value } from "#cli/args.ts";
import type { Client } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { caIdOf } from "#cli/references.ts";
import { columns, facts, rowsAt, textAt } from "#cli/rows.ts";

const resourceArg = {
  resource: required("CA, as its id or label or as ca/<id>.", "ca"),
} as const satisfies Args;

const grantArgs = {
  ...resourceArg,
  user: value("Subject or verified e-mail address.", "name"),
  group: value("Group of the directory or identity provider.", "name"),
  role: required("ca-admin, ca-manager, ca-issuer or ca-auditor.", "role"),
  scope: choice("self, or subtree for what stands below the CA too.", "scope", ["self", "subtree"]),
} as const satisfies Args;

export const grantVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List the grants made on a CA and the rest of its lineage.",
    args: resourceArg,
    run: async ({ args, client, print }) => {
      const resource = await resourceOf(client, args.resource);
      const list = await client.ask("grant.list", { resource });
      print(list, columns(rowsAt(list, "items"), shown));
    },
  }),
  add: command({
    summary: "Give a user or group a role on a CA.",
    args: grantArgs,
    run: async ({ args, client, print }) => {
      const grant = await client.ask("resource.grant", await requestOf(client, args));
      print(grant, facts(grant, ["id", "resource", ...shown]));
    },
  }),
  remove: command({
    summary: "Take a role on a CA back.",
    args: grantArgs,
    run: async ({ args, client, print }) => {
      const result = await client.ask("resource.revoke", await requestOf(client, args));
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
  effective: command({
    summary: "Show what a subject may do on a CA, and why; you, unless --user names another.",
    args: { ...resourceArg, user: value("Subject, like token:<id>.", "name") },
    run: async ({ args, client, print }) => {
      const resource = await resourceOf(client, args.resource);
      const found = await client.ask("grant.effective", { resource, subject: args.user });
      const members = ["resource", "subject", "tenant_id", "is_root", "platform_roles"] as const;
      const rest = ["tenant_roles", "resource_roles", "capabilities"] as const;
      const grants = columns(rowsAt(found, "grants"), shown);
      print(found, `${facts(found, [...members, ...rest])}${grants}`);
    },
  }),
};

async function requestOf(client: Client, args: Given<typeof grantArgs>) {
  const { user, group, role, scope } = args;
  if ((user === undefined) === (group === undefined)) {
    throw new UsageError("Name exactly one of --user and --group.");
  }
  const type = user === undefined ? "group" : "user";
  return {
    resource: await resourceOf(client, args.resource),
    entity_type: type,
    entity_id: user ?? group,
    role,
    scope,
  };
}

/**
 * What is spelled like the API's resource is taken as it is, so that holders of no more than a
 * grant need no list.
 */
const resourceOf = async (client: Client, given: string): Promise<string> =>
  given.startsWith("ca/") ? given : `ca/${await caIdOf(client, given)}`;

const shown = [
  "entity_type",
  "entity_id",
  "role",
  "scope",
  "source",
  "created_by",
  "created_at",
] as const;
