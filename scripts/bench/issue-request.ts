/** The request that the issuing scenarios repeat: one certificate of the profile for servers. */

import type { Instance } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import type { LoadRequest } from "./load.ts";

export interface IssueRequest extends Omit<LoadRequest, "connections" | "seconds"> {
  readonly csr: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A new CSR for this CA, asked for with an API token that may issue. */
export async function issueRequest(instance: Instance, ca: string): Promise<IssueRequest> {
  const csr = await newCsr(instance.home, "bench.example.test");
  const authorization = `Token ${await instance.token(["issuer"])}`;
  return {
    csr,
    url: `${instance.url}/api/ca/${ca}/issue`,
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ csr, profile: "server" }),
  };
}

/** Issues one certificate and gives its serial; `Bun.fetch`, because nobody judges its answers. */
export async function issueOne(request: IssueRequest): Promise<string> {
  const { url, headers, body } = request;
  const tls = { rejectUnauthorized: false };
  const answer = await Bun.fetch(url, { method: "POST", headers, body, tls });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return (JSON.parse(text) as { serial: string }).serial; // As its description says.
}
