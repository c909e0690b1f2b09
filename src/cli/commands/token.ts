/** `pkid token`: mints, lists and revokes API tokens. */

import {
  choice,
  many,
  number,
  pageArgs,
  required,
  tenantArg,
  value,
  wholeTime,
  word,
} from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { UsageError } from "#cli/failure.ts";
import { columns, rowsAt, textAt } from "#cli/rows.ts";

export const apiTokenVerbs: Readonly<Record<string, Command>> = {
  create: command({
    summary: "Mint a token; its secret is printed once, on stdout.",
    args: {
      name: required("Name, 1 to 100 characters.", "name"),
      roles: many("Roles: admin, issuer, auditor, approver.", "role"),
      scope: choice("tenant or platform.", "scope", ["tenant", "platform"]),
      tenant: tenantArg,
      "expires-at": value("Time or day it ends.", "time"),
      "expires-in-days": number("Days it lives.", "days"),
      description: value("What it is for.", "text"),
    },
    run: async ({ args, client, print, note }) => {
      if (args.roles.length === 0) throw new UsageError("--roles <role> is required.");
      const apiToken = await client.ask("token.create", {
        name: args.name,
        roles: args.roles,
        scope: args.scope,
        tenant_id: args.tenant,
        description: args.description,
        expires_at: wholeTime(args["expires-at"]),
        expires_in_days: args["expires-in-days"],
      });
      print(apiToken, `${textAt(apiToken, "secret")}\n`);
      note(`Token ${textAt(apiToken, "id")}; the secret is not shown again.`);
    },
  }),
  list: command({
    summary: "List the tokens you may manage, newest first.",
    args: {
      tenant: tenantArg,
      ...pageArgs,
    },
    run: async ({ args, client, print }) => {
      const { all, ...query } = args;
      const list = await client.list("token.list", query, all);
      const keys = ["id", "name", "roles", "scope", "created_by", "expires_at", "revoked"] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  revoke: command({
    summary: "Revoke a token at once.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const result = await client.ask("token.revoke", { id });
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
};
