/** A person other than the operator of the host, identified by a client certificate. */

import { expect } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { once } from "#core/once.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { material } from "#test/support/tls/tls-client.ts";
import type { Instance } from "./instance.ts";
import type { Said } from "./person.ts";

/** Platform administrator other than root and the callers of the admin socket. */
export interface SecondPerson {
  readonly subject: string;
  /** Settings of `auth` with which an instance accepts the certificate. */
  readonly auth: Readonly<Record<"mtls", object>>;
  /** Sends one request with the client certificate. */
  fetch(instance: Instance, path: string, init?: RequestInit): Promise<Response>;
  /** Sends one request of JSON. */
  send(instance: Instance, method: string, path: string, body?: object): Promise<Said>;
  /** Approves a request, and returns it as it is afterwards. */
  approve(instance: Instance, id: string): Promise<Said["body"]>;
  /** Creates an API token of this person, where `token.create` needs no approval. */
  createToken(instance: Instance, roles: readonly string[], scope?: string): Promise<string>;
}

/** Returns the second person of all test files of this process. */
export const shareSecondPerson = once((): SecondPerson => {
  const subject = "carol";
  const outside = OutsideCa.root("Second people");
  const client = material(outside.client({ subject: [{ type: "CN", value: subject }] }));
  const caFile = join(mkdtempSync(join(tmpdir(), "pkid-second-")), "client-cas.pem");
  writeFileSync(caFile, outside.pem);
  const bindings = [{ subject_cn: subject, subject, roles: ["admin"] }];
  const request: SecondPerson["fetch"] = (instance, path, init = {}) =>
    fetch(new URL(path, instance.url).href, {
      ...init,
      tls: { ...client, ca: instance.servingCa() },
    });
  const send: SecondPerson["send"] = async (instance, method, path, body) => {
    const headers = { "content-type": "application/json" };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await request(instance, path, { method, headers, ...content });
    return { status: response.status, body: await response.json() };
  };
  return {
    subject,
    auth: { mtls: { enabled: true, ca_file: caFile, bindings } },
    fetch: request,
    send,
    approve: async (instance, id) => {
      const { status, body } = await send(instance, "POST", `/api/approvals/${id}/approve`, {});
      expect([status, body.code]).toEqual([200, undefined]);
      return body;
    },
    createToken: async (instance, roles, scope = "tenant") => {
      const order = { name: "test", roles, scope };
      const { status, body } = await send(instance, "POST", "/api/tokens", order);
      expect([status, body.code]).toEqual([201, undefined]);
      return body.secret;
    },
  };
});
