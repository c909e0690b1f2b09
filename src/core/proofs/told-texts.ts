/** What a row and its event both tell: the texts that match them. */

/** A certificate by the SHA-256 of its DER; a leaf with its profile and tenant. */
export const certificateText = (
  digest: string,
  leaf: { readonly profile: string; readonly tenant: string } | undefined,
): string => [digest, leaf?.profile ?? "", leaf?.tenant ?? ""].join("|");

/** An entry that was put into the table; `at` in epoch milliseconds. */
export const entryText = (
  caId: string,
  serial: string,
  {
    sequence,
    reason,
    at,
  }: { readonly sequence: number; readonly reason: string; readonly at: number },
): string => ["entry", caId, serial, sequence, reason, at].join("|");

/** A hold that was taken off; `since` is when it began, in epoch milliseconds. */
export const releaseText = (
  caId: string,
  serial: string,
  { sequence, since }: { readonly sequence: number; readonly since: number },
): string => ["release", caId, serial, sequence, since].join("|");

/** An API token with the rights it was given, as the detail of its events has them. */
export const tokenText = (
  id: string,
  tenant: string,
  detail: Pick<ReadonlyMap<string, string>, "get">,
): string => {
  const facts = ["scope", "roles", "expires_at"].map((name) => detail.get(name) ?? "");
  return ["token", id, tenant, ...facts].join("|");
};

/** A grant on a CA; `entity` is its type, a colon and its id. */
export const grantText = (
  caId: string,
  entity: string,
  detail: Pick<ReadonlyMap<string, string>, "get">,
): string => ["grant", caId, entity, detail.get("role"), detail.get("scope")].join("|");

/** A certificate whose octets retention has pruned, by its CA and serial. */
export const prunedText = (caId: string, serial: string): string => `${caId}|${serial}`;
