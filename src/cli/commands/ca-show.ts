/** `pkid ca show`: one CA with its bundle, its rollover, and the addresses it is asked at. */

import { word } from "#cli/args.ts";
import type { Answer, Client } from "#cli/client.ts";
import { type Command, command } from "#cli/command.ts";
import { Refusal } from "#cli/failure.ts";
import { caOf } from "#cli/references.ts";
import { facts, namesOf, rowAt, rowOf, rowsAt, textAt } from "#cli/rows.ts";
import { pointerUrls } from "#cli/pointer-urls.ts";

/**
 * With `--json` the record, and beside its members `rotation`, `stamped_urls`, `issuer_urls` and
 * `chain`.
 */
export const caShow: Command = command({
  summary: "Show one CA with its bundle, its rollover and its addresses.",
  args: { ca: word() },
  run: async ({ args, client, print }) => {
    const ca = await caOf(client, args.ca);
    const id = textAt(ca, "id");
    const rotation = await client.ask("ca.rotation", { id });
    const { ca: _ca, ...state } = rotation;
    const pending = textAt(ca, "certificate") === "";
    const chain = pending
      ? undefined
      : new TextDecoder().decode(await client.fetch("ca.chain", { id }));
    const pointers = await pointersOfNewest(client, id);
    const issuer = pointerUrls(textAt(ca, "certificate"));
    const shown = {
      ...ca,
      rotation: state,
      ...(pointers === undefined ? {} : { stamped_urls: pointers }),
      ...(issuer === undefined ? {} : { issuer_urls: issuer }),
      ...(chain === undefined ? {} : { chain }),
    };
    print(
      shown,
      [recordText(ca, rotation), urlText(shown), chain ?? ""].filter(Boolean).join("\n"),
    );
    return 0;
  },
});

/**
 * What the CA wrote into the certificate it made last: a leaf, else that of a CA below it; none
 * while there is neither.
 */
async function pointersOfNewest(client: Client, id: string) {
  const newest = async (ask: () => Promise<Answer<"cert.list"> | Answer<"ca.list">>) => {
    try {
      const [row] = rowsAt(await ask(), "items");
      return row === undefined ? undefined : pointerUrls(textAt(row, "certificate"));
    } catch (error) {
      // Who may not read certificates sees the rest.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  };
  return (
    (await newest(() => client.ask("cert.list", { id, limit: 1 }))) ??
    (await newest(() => client.ask("ca.list", { parent_id: id, limit: 1 })))
  );
}

function recordText(ca: Answer<"ca.show">, rotation: Answer<"ca.rotation">): string {
  const neighbours = {
    successor: textAt(rowAt(rotation, "successor"), "label"),
    predecessor: textAt(rowAt(rotation, "predecessor"), "label"),
  };
  const superseded = textAt(ca, "status") === "superseded" || textAt(ca, "predecessor_id") !== "";
  const state = superseded ? rotation : {};
  return facts({ ...ca, ...state, ...neighbours }, recordKeys);
}

function urlText(shown: { readonly stamped_urls?: object; readonly issuer_urls?: object }): string {
  const own = rowOf(shown.stamped_urls);
  const above = rowOf(shown.issuer_urls);
  const lines = {
    stamped_crl: own.crl,
    stamped_ocsp: own.ocsp,
    stamped_ca_issuers: own.ca_issuers,
    issuer_crl: above.crl,
    issuer_ocsp: above.ocsp,
    issuer_ca_issuers: above.ca_issuers,
  };
  return facts(lines, namesOf(lines));
}

const recordKeys = [
  "id",
  "label",
  "status",
  "subject",
  "serial",
  "not_before",
  "not_after",
  "key_type",
  "algorithm",
  "alt_key_type",
  "provider",
  "parent_id",
  "max_path_len",
  "public_key_fingerprint",
  "tenant_id",
  "created_at",
  "successor",
  "predecessor",
  "outstanding_leaves",
  "retire_after",
  "safe_to_retire",
] as const;
