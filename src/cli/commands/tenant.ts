/** `pkid tenant`: makes tenants, limits, suspends and deletes them, and shows what they use. */

import { number, pageArgs, required, value, word } from "#cli/args.ts";
import type { Answer } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { columns, facts, rowAt, rowsAt, textAt } from "#cli/rows.ts";

export const tenantVerbs: Readonly<Record<string, Command>> = {
  list: command({
    summary: "List the tenants you are a member of, newest first.",
    args: { q: value("Text in slug or name.", "text"), ...pageArgs },
    run: async ({ args: { all, ...query }, client, print }) => {
      const list = await client.list("tenant.list", query, all);
      print(list, columns(rowsAt(list, "items"), ["id", "slug", "name", "status", "created_at"]));
    },
  }),
  create: command({
    summary: "Make a tenant, without quotas.",
    args: {
      slug: required("Short name, 1 to 63 of a-z 0-9 -", "slug"),
      name: value("Name for people (the slug when not given).", "name"),
      "kek-label": value("Label of its own key-encryption key.", "label"),
    },
    run: async ({ args, client, print }) => {
      const { slug, name } = args;
      const kek_label = args["kek-label"];
      shown(print, await client.ask("tenant.create", { slug, name, kek_label }));
    },
  }),
  show: command({
    summary: "Show one tenant with its quotas.",
    args: { tenant: word() },
    run: async ({ args, client, print }) => {
      shown(print, await client.ask("tenant.show", { id: args.tenant }));
    },
  }),
  suspend: setting("suspended", "Stop a tenant issuing, from the next request on."),
  activate: setting("active", "Let a suspended tenant issue again."),
  quota: command({
    summary: "Set quotas; those not named stay as they are, 0 is unlimited.",
    args: {
      tenant: word(),
      "certs-per-day": number("Certificates per UTC day.", "n"),
      "active-certs": number("Certificates good or held and not expired.", "n"),
      rate: number("Requests per second.", "n"),
      burst: number("Requests at once.", "n"),
    },
    run: async ({ args, client, print }) => {
      const id = args.tenant;
      const present = rowAt(await client.ask("tenant.show", { id }), "quotas");
      const wanted = {
        max_certs_per_day: args["certs-per-day"],
        max_active_certs: args["active-certs"],
        rate_limit_per_second: args.rate,
        rate_limit_burst: args.burst,
      };
      const given = Object.entries(wanted).filter(([, limit]) => limit !== undefined);
      const quotas = { ...present, ...Object.fromEntries(given) };
      shown(print, await client.ask("tenant.update", { id, quotas }));
    },
  }),
  usage: command({
    summary: "Show what a tenant has issued and revoked, and what counts against its quotas.",
    args: { tenant: word(), days: number("Days to show (7 when not given).", "n") },
    run: async ({ args, client, print }) => {
      const usage = await client.ask("tenant.usage", { id: args.tenant, days: args.days });
      const totals = [
        "slug",
        "status",
        "active_certs",
        "total_issued",
        "total_revoked",
        "cas",
      ] as const;
      const days = columns(rowsAt(usage, "days"), ["day", "certs_issued", "certs_revoked"]);
      print(
        usage,
        `${facts({ ...usage, ...rowAt(usage, "quotas") }, [...totals, ...limits])}${days}`,
      );
    },
  }),
  delete: command({
    summary: "Delete a tenant that owns no CA; its tokens are revoked.",
    destroys: "The tenant and its tokens are gone for good.",
    args: { tenant: word() },
    run: async ({ args, client, print }) => {
      const result = await client.ask("tenant.delete", { id: args.tenant });
      print(result, `${textAt(result, "status")}\n`);
    },
  }),
};

function setting(status: "active" | "suspended", summary: string): Command {
  return command({
    summary,
    args: { tenant: word() },
    run: async ({ args, client, print }) => {
      shown(print, await client.ask("tenant.status", { id: args.tenant, status }));
    },
  });
}

function shown(
  print: (document: unknown, human: string) => void,
  tenant: Answer<"tenant.show">,
): void {
  const members = ["id", "slug", "name", "status", "kek_label", "created_at", ...limits] as const;
  print(tenant, facts({ ...tenant, ...rowAt(tenant, "quotas") }, members));
}

const limits = [
  "max_certs_per_day",
  "max_active_certs",
  "rate_limit_per_second",
  "rate_limit_burst",
] as const;
