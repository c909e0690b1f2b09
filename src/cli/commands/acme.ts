/** `pkid acme`: credentials, accounts, orders and authorizations, and the ending of them. */

import {
  many,
  number,
  oneOf,
  pageArgs,
  required,
  toggle,
  value,
  wholeTime,
  word,
} from "#cli/args.ts";
import { type Command, command, type Noun } from "#cli/command.ts";
import { columns, facts, rowAt, rowsAt, textAt } from "#cli/rows.ts";
import { acmeReplace, acmeReplacements, acmeReplacementVerbs } from "./acme-replace.ts";

/** RFC 8555 §7.3.4: who may make accounts. */
const eabVerbs: Readonly<Record<string, Command>> = {
  create: command({
    summary: "Make a credential for accounts; its key is printed once, on stdout.",
    args: {
      name: required("Name, 1 to 100 characters.", "name"),
      directory: value("Directory of the configuration; else the first.", "name"),
      description: value("What it is for.", "text"),
      profile: value("Profile of certificates; else that of the directory.", "name"),
      "dns-suffix": many("DNS name that is permitted with all below it.", "name"),
      "ip-range": many("Address block that is permitted.", "CIDR"),
      "allow-wildcards": toggle("Permit wildcards below what is permitted."),
      "any-identifier": toggle("Permit every name and address."),
      "max-uses": number("Accounts it may bind, 0 for any number; 1 unless said.", "n"),
      "expires-at": value("Time or day it ends.", "time"),
      "expires-in-days": number("Days it lives.", "days"),
    },
    run: async ({ args, client, print, note }) => {
      const made = await client.ask("acme.eab.create", {
        name: args.name,
        directory: args.directory,
        description: args.description,
        profile: args.profile,
        dns_suffixes: args["dns-suffix"],
        ip_ranges: args["ip-range"],
        allow_wildcards: args["allow-wildcards"],
        any_identifier: args["any-identifier"],
        max_uses: args["max-uses"],
        expires_at: wholeTime(args["expires-at"]),
        expires_in_days: args["expires-in-days"],
      });
      const kid = textAt(made, "id");
      const shown = {
        kid,
        hmac_key: textAt(made, "hmac_key"),
        directory: textAt(made, "directory_url"),
      };
      print(made, facts(shown, ["kid", "hmac_key", "directory"]));
      note(`Credential ${kid}; the key is not shown again.`);
    },
  }),
  list: command({
    summary: "List credentials, newest first; never their keys.",
    args: {
      status: oneOf("Only those that are so.", "status", [
        "active",
        "exhausted",
        "expired",
        "revoked",
      ]),
      ...pageArgs,
    },
    run: async ({ args, client, print }) => {
      const { all, ...query } = args;
      const list = await client.list("acme.eab.list", query, all);
      const keys = [
        "id",
        "name",
        "directory",
        "status",
        "uses",
        "max_uses",
        "dns_suffixes",
        "expires_at",
        "source",
      ] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  revoke: command({
    summary: "Revoke a credential: it binds no more, and its accounts order nothing more.",
    args: {
      kid: word(),
      "deactivate-accounts": toggle("End the accounts that were bound with it, for good."),
    },
    run: async ({ args, client, print }) => {
      const accounts = args["deactivate-accounts"] ? "deactivate" : undefined;
      const result = await client.askLong("acme.eab.revoke", { id: args.kid, accounts });
      const told = ["status", "bound_accounts", "deactivated_accounts"] as const;
      print(result, facts(result, told));
    },
  }),
};

const accountVerbs: Readonly<Record<string, Command>> = {
  deactivate: command({
    summary: "End an account for good, with its authorizations and open orders.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const result = await client.ask("acme.account.deactivate", { id });
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
};

const orderVerbs: Readonly<Record<string, Command>> = {
  deactivate: command({
    summary: "End an order that nobody has finalized yet.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const result = await client.ask("acme.order.deactivate", { id });
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
};

const authorizationVerbs: Readonly<Record<string, Command>> = {
  deactivate: command({
    summary: "End an authorization for good: the account proves the name again.",
    args: { id: word() },
    run: async ({ args: { id }, client, print }) => {
      const result = await client.ask("acme.authz.deactivate", { id });
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
};

export const acmeVerbs: Readonly<Record<string, Noun>> = {
  accounts: command({
    summary: "List accounts, newest first.",
    args: {
      status: oneOf("Only those that are so.", "status", ["valid", "deactivated", "revoked"]),
      ...pageArgs,
    },
    run: async ({ args, client, print }) => {
      const { all, ...query } = args;
      const list = await client.list("acme.account.list", query, all);
      const keys = ["id", "directory", "status", "contacts", "eab_id", "created_at"] as const;
      print(list, columns(rowsAt(list, "items"), keys));
    },
  }),
  account: { summary: "One account.", verbs: accountVerbs },
  orders: command({
    summary: "List orders, newest first.",
    args: {
      status: oneOf("Only those that are so.", "status", [
        "pending",
        "ready",
        "processing",
        "valid",
        "invalid",
      ]),
      account: value("Only those of the account.", "id"),
      ...pageArgs,
    },
    run: async ({ args, client, print }) => {
      const { all, ...query } = args;
      const list = await client.list("acme.order.list", query, all);
      const rows = rowsAt(list, "items").map((order) => ({
        id: textAt(order, "id"),
        account_id: textAt(order, "account_id"),
        status: textAt(order, "status"),
        serial: textAt(order, "serial"),
        expires: textAt(order, "expires"),
        identifiers: rowsAt(order, "identifiers")
          .map((one) => textAt(one, "value"))
          .join(","),
      }));
      const keys = ["id", "account_id", "status", "serial", "expires", "identifiers"] as const;
      print(list, columns(rows, keys));
    },
  }),
  order: { summary: "One order.", verbs: orderVerbs },
  authorizations: command({
    summary: "List what an account has proved or is to prove, by name.",
    args: { account: required("Account.", "id"), ...pageArgs },
    run: async ({ args, client, print }) => {
      const { all, ...query } = args;
      const list = await client.list("acme.authz.list", query, all);
      const rows = rowsAt(list, "items").map((authorization) => ({
        id: textAt(authorization, "id"),
        status: textAt(authorization, "status"),
        method: textAt(authorization, "method"),
        wildcard: textAt(authorization, "wildcard"),
        expires: textAt(authorization, "expires"),
        identifier: textAt(rowAt(authorization, "identifier"), "value"),
      }));
      const keys = ["id", "status", "method", "wildcard", "expires", "identifier"] as const;
      print(list, columns(rows, keys));
    },
  }),
  authorization: { summary: "One authorization.", verbs: authorizationVerbs },
  replace: acmeReplace,
  replacements: acmeReplacements,
  replacement: { summary: "One planned replacement.", verbs: acmeReplacementVerbs },
  eab: { summary: "Credentials that accounts are bound with.", verbs: eabVerbs },
};
