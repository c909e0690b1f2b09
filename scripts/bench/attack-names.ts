/** Attacks of the scenario `attacks`. */

/** Every attack by its name, and its description. */
export const attackNames = {
  keys: "account keys with costly moduli at revoke-cert and new-account",
  csr: "bulk dry runs of 60 CSRs with costly moduli",
  orders: "ACME orders of accounts that cost nothing",
  names: "ACME orders of names that are refused",
  proofs: "challenges of 100 accounts",
  cleartext: "requests to the cleartext listener, each a row of the access log",
  feed: "1,000 readers of the live feed with 20 API tokens",
  import: "CRLs of 32 MB",
  metrics: "requests for /metrics",
} as const;

export type AttackName = keyof typeof attackNames;
