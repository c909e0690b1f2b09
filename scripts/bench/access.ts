/**
 * What it costs to find out who asks and whether he may: requests to issue that are refused right
 * after that, for want of a body, beside requests refused right before it, for want of a
 * credential. In processor time of the server.
 */

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { logIn, type Person } from "#test/support/instances/person.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { type LoadRequest, load } from "./load.ts";
import { row, section } from "./print.ts";
import { processorSeconds } from "./processor.ts";
import type { Bench } from "./scenario.ts";
import { median } from "./statistics.ts";

/**
 * Prints the share of an issue for each kind of credential; every round takes some seven times
 * `seconds`.
 */
export async function access({ seconds, binary }: Bench): Promise<void> {
  section("access", `authentication and authorization of an issue, median of ${rounds} rounds`);
  const password = crypto.randomUUID();
  const log = { level: "info", format: "json" };
  const instance = await Instance.start({ binary, config: { log, root_user: { password } } });
  try {
    const { intermediateId } = await createChain(instance, "ecdsa-p256");
    const { tenant_id } = await instance.admin<{ tenant_id: string }>(
      "GET",
      `/api/ca/${intermediateId}`,
    );
    const csr = await newCsr(instance.home, "bench.example.test");
    const ask = (person: Person, body?: unknown) => ({
      url: `${instance.url}/api/ca/${intermediateId}/issue`,
      method: "POST",
      headers: { ...person, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const ways: readonly (readonly [string, Person])[] = [
      ["API token", { authorization: `Token ${await instance.token(["issuer"])}` }],
      [
        "API token of a tenant",
        { authorization: `Token ${await instance.token(["issuer"], { tenant_id })}` },
      ],
      ["session cookie", await logIn(instance, password)],
    ];
    for (const [name, person] of ways) {
      const figures: number[] = [];
      const shares: number[] = [];
      const issues: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const before = await microseconds(instance, ask({}), seconds);
        const after = await microseconds(instance, ask(person), seconds);
        const issue = await microseconds(
          instance,
          ask(person, { csr, profile: "server" }),
          seconds,
        );
        figures.push(after - before);
        issues.push(issue);
        shares.push((after - before) / (issue - (after - before)));
      }
      const share = `${(median(shares) * 100).toFixed(1)} % on top of the rest`;
      row(name, `${median(figures).toFixed(0)} of ${median(issues).toFixed(0)} µs, ${share}`);
    }
  } finally {
    await instance.dispose();
  }
}

/** Processor time of the server for one such request. */
async function microseconds(
  { pid }: Instance,
  request: Omit<LoadRequest, "connections" | "seconds">,
  seconds: number,
): Promise<number> {
  await load({ ...request, connections: 16, seconds: 1 });
  const worked = await processorSeconds(pid);
  const { perSecond } = await load({ ...request, connections: 16, seconds });
  return (((await processorSeconds(pid)) - worked) / (perSecond * seconds)) * 1e6;
}

const rounds = 3;
