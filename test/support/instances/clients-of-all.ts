/** Clients of an instance that is replaced: of issuing, OCSP and lists, in every way to connect. */

import { join } from "node:path";

import { createChain } from "./first-certificate.ts";
import type { Instance } from "./instance.ts";
import { Load } from "./load.ts";
import { PlainClient } from "./plain-client.ts";
import { newCsr, openssl, saved } from "./relying-party.ts";

/** What clients ask for: by these addresses, believing these CAs. */
export interface World {
  readonly main: string;
  readonly open: string;
  readonly ca: readonly string[];
  readonly id: string;
  readonly csr: string;
  readonly token: string;
  readonly request: Uint8Array<ArrayBuffer>;
  /** Milliseconds between a response and the next request of the client; 0 without it. */
  readonly pauseMs?: number;
}

/** A CA of the instance, a leaf, and who may issue there. */
export async function worldOf(
  instance: Instance,
): Promise<Omit<World, "main" | "open" | "ca" | "pauseMs">> {
  const chain = await createChain(instance, "ecdsa-p256");
  const { home } = instance;
  const csr = await newCsr(home, "upgrade.example.test");
  const token = await instance.token(["issuer"]);
  const path = `/api/ca/${chain.intermediateId}/issue`;
  const leaf = await instance.admin<{ certificate: string }>("POST", path, { csr });
  const file = saved(home, "leaf.pem", leaf.certificate);
  const asked = join(home, "leaf.ocsp");
  const about = ["-issuer", chain.intermediate, "-cert", file, "-no_nonce"];
  await openssl(["ocsp", ...about, "-reqout", asked]);
  const request = await Bun.file(asked).bytes();
  return { id: chain.intermediateId, csr, token, request };
}

/** Clients that have begun, and what was acknowledged to them. */
export interface Clients {
  readonly load: Load;
  readonly serials: ReadonlySet<string>;
  /** Ends the connections that are kept. */
  close(): void;
}

/** Starts clients that keep their connections, and clients that come anew for each request. */
export function startClients(world: World): Clients {
  const { main, open, ca, id, csr, token, request } = world;
  const load = new Load(world.pauseMs);
  const serials = new Set<string>();
  const headers = { authorization: `Token ${token}`, "content-type": "application/json" };
  const issue = (keepalive: boolean) => async () => {
    const body = JSON.stringify({ csr });
    const options = { method: "POST", body, headers, keepalive, tls: { ca: [...ca] } };
    const answer = await fetch(`${main}/api/ca/${id}/issue`, options);
    const { serial } = await answer.json();
    if (answer.status === 201) serials.add(serial);
    return answer.status;
  };
  const read = (path: string, init: BunFetchRequestInit) => async () => {
    const answer = await fetch(`${open}/api/ca/${id}/${path}`, init);
    await answer.bytes();
    return answer.status;
  };
  const asked = { "content-type": "application/ocsp-request" };
  const ocsp = { method: "POST", body: request, headers: asked };
  load.start("issue", issue(true));
  load.start("issue anew", issue(false));
  load.start("ocsp", read("ocsp", { ...ocsp, keepalive: true }));
  load.start("ocsp anew", read("ocsp", { ...ocsp, keepalive: false }));
  load.start("crl", read("crl", { keepalive: true }));
  load.start("crl anew", read("crl", { keepalive: false }));
  const port = Number(new URL(open).port);
  const plain = Array.from({ length: 8 }, () => new PlainClient(port, `/api/ca/${id}/crl`));
  for (const [n, client] of plain.entries()) load.start(`plain ${n + 1}`, () => client.ask());
  const close = () => {
    for (const client of plain) client.close();
  };
  return { load, serials, close };
}
