/** What every source of a secret guarantees, whether it is on this machine or a server. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { openSecrets } from "#app/secrets.ts";
import type { SecretSource } from "#config/secret.ts";
import { type SecretServer, unspeakable } from "#test/support/servers/secret-server.ts";

/** One kind of source with one secret in it. */
export interface SourceHarness {
  readonly env: Record<string, string>;
  readonly source: SecretSource;
  put(secret: string): void;
  remove(): void;
}

/** A source that is a server. */
export interface ServerHarness extends SourceHarness {
  readonly server: SecretServer;
  /** The environment of somebody whom the server does not know. */
  readonly stranger: Record<string, string>;
}

/** Fetches as the instance does: over the real network code, trusting the server of the test. */
export const fetched = (
  { source, env }: Pick<SourceHarness, "source" | "env">,
  caFile?: string,
): Promise<string | undefined> =>
  openSecrets({ outbound: { ca_file: caFile } }, env).fresh("some.key", { from: "source", source });

/** The sentence a failing fetch ends with. */
export async function refusal(fetching: Promise<unknown>): Promise<string> {
  const error = await fetching.then(
    () => undefined,
    (fault: unknown) => fault,
  );
  expect(error).toMatchObject({ name: "SecretUnavailable" });
  // What was just seen to be an error.
  const text = String((error as Error).message) + JSON.stringify(error);
  for (const secret of [...unspeakable, theSecret]) expect(text).not.toContain(secret);
  return (error as Error).message;
}

export const theSecret = "Geheim-ä-€-11";

/** The guarantees of all five. */
export function sourceSuite(name: string, open: () => SourceHarness, caFile?: () => string): void {
  describe(name, () => {
    let harness: SourceHarness;
    beforeEach(() => {
      harness = open();
      harness.put(theSecret);
    });
    const get = () => fetched(harness, caFile?.());

    test("gives the secret, every character of it", async () => {
      expect(await get()).toBe(theSecret);
    });

    test("gives it without one final line end", async () => {
      harness.put("a\n");
      expect(await get()).toBe("a");
      harness.put(" a\r\n\r\n");
      expect(await get()).toBe(" a\r\n");
    });

    test("refuses a secret that is empty, or nothing but a line end", async () => {
      harness.put("\n");
      expect(await refusal(get())).toMatch(/^some\.key: .*(is empty|it is empty|has no value)/);
    });

    test("gives 64 KiB and refuses one octet more", async () => {
      harness.put("x".repeat(65_536));
      expect(await get()).toHaveLength(65_536);
      harness.put("x".repeat(65_537));
      expect(await refusal(get())).toContain("is larger than 64 KiB");
    });

    test("refuses when there is no such secret, and names key and source", async () => {
      harness.remove();
      const sentence = await refusal(get());
      expect(sentence).toStartWith("some.key: The ");
      expect(sentence).toMatch(/\.$/);
    });

    test("gives a change at the next fetch", async () => {
      expect(await get()).toBe(theSecret);
      harness.put("other");
      expect(await get()).toBe("other");
    });
  });
}

/** What those guarantee that are servers. */
export function serverSuite(name: string, open: () => ServerHarness): void {
  describe(`${name} as a server`, () => {
    let harness: ServerHarness;
    beforeEach(() => {
      harness = open();
      harness.put(theSecret);
      harness.server.asked.length = 0;
    });
    afterEach(() => {
      harness.server.before = () => undefined;
    });
    const get = () => fetched(harness, harness.server.caFile);
    const answering = (response: () => Response) => {
      harness.server.before = response;
    };

    test("refuses whom it does not know, and is not asked twice", async () => {
      const sentence = await refusal(
        fetched({ ...harness, env: harness.stranger }, harness.server.caFile),
      );
      expect(sentence).toMatch(/answered 40[0-9]/);
      const paths = harness.server.asked.map(({ url }) => url.pathname);
      expect(new Set(paths).size).toBe(paths.length);
    });

    test("says what it lacks without credentials, before anybody is asked", async () => {
      const env = { AWS_EC2_METADATA_DISABLED: "true", IDENTITY_ENDPOINT: "http://127.0.0.1:9/" };
      const place = Object.fromEntries(
        Object.entries(harness.env).filter(([variable]) => /ENDPOINT_URL|HOME/.test(variable)),
      );
      const sentence = await refusal(
        fetched({ ...harness, env: { ...env, ...place } }, harness.server.caFile),
      );
      expect(sentence).toMatch(/VAULT_|access key|IDENTITY_HEADER/);
      expect(harness.server.asked).toEqual([]);
    });

    test("is asked once more after a fault that passes, and gives the secret then", async () => {
      let faults = 1;
      harness.server.before = () => (faults-- > 0 ? new Response("", { status: 503 }) : undefined);
      expect(await get()).toBe(theSecret);
    });

    test("is asked twice at most", async () => {
      answering(() => new Response("", { status: 500 }));
      expect(await refusal(get())).toContain("answered 500");
      expect(harness.server.asked).toHaveLength(2);
    });

    test("is not followed elsewhere", async () => {
      const elsewhere = `${harness.server.url}/elsewhere`;
      answering(() => Response.redirect(elsewhere, 307));
      expect(await refusal(get())).toContain("answered 307, and redirects are not followed");
      expect(harness.server.asked.map(({ url }) => url.pathname)).not.toContain("/elsewhere");
    });

    test("is not believed when its answer is too long, no JSON, or JSON of another kind", async () => {
      answering(() => new Response("x".repeat(600_000)));
      expect(await refusal(get())).toContain("too long");
      for (const body of ["", "no json", "[]", "null", "{}", '{"data":1,"value":2,"auth":[]}']) {
        answering(() => new Response(body));
        expect(await refusal(get())).toMatch(/is no JSON object|has no|binary|not of a key-value/);
      }
    });

    test("repeats nothing of an answer that is a refusal", async () => {
      const echo = JSON.stringify({
        errors: unspeakable,
        error: unspeakable[0],
        __type: theSecret,
      });
      answering(() => new Response(echo, { status: 403 }));
      expect(await refusal(get())).toContain("answered 403");
    });
  });
}
