/** Where the server says it listens, so that no proof is looked for there. */

import { expect, test } from "bun:test";

import type { HandedOver } from "#app/handed-over.ts";
import { type OpenPorts, ownListeners } from "#app/own-listeners.ts";

const none: HandedOver = { main: undefined, public: undefined };
const socket = { name: "", port: 8443, adopt: () => ({ release: () => {} }) };

const listening = (
  server: { host?: string; port?: number; cleartext?: string } = {},
  open: OpenPorts = {},
  handed = none,
) => {
  const { host = "192.0.2.1", port = 8443, cleartext } = server;
  const public_http = { enabled: cleartext !== undefined, address: cleartext ?? "0.0.0.0:8080" };
  return ownListeners({ host, port, public_http }, open, handed);
};

test("the main listener alone, where the cleartext one is off", () => {
  expect(listening()).toEqual([{ address: "192.0.2.1", port: 8443 }]);
});

test("both, the address of the cleartext one without its brackets", () => {
  const main = { address: "192.0.2.1", port: 8443 };
  for (const [cleartext, address] of [
    ["0.0.0.0:8080", "0.0.0.0"],
    ["[2001:db8::1]:8080", "2001:db8::1"],
    ["localhost:8080", "localhost"],
  ] as const) {
    expect(listening({ cleartext })).toEqual([main, { address, port: 8080 }]);
  }
});

test("at the ports that the system chose, where the configuration leaves them to it", () => {
  const server = { port: 0, cleartext: "127.0.0.1:0" };
  expect(listening(server, { main: 40_001, public: 40_002 })).toEqual([
    { address: "192.0.2.1", port: 40_001 },
    { address: "127.0.0.1", port: 40_002 },
  ]);
});

test("at any address, where a socket was handed over that may be bound to any", () => {
  const server = { cleartext: "127.0.0.1:8080" };
  expect(listening(server, {}, { main: socket, public: undefined })).toEqual([
    { address: "::", port: 8443 },
    { address: "127.0.0.1", port: 8080 },
  ]);
  expect(listening(server, {}, { main: undefined, public: socket })).toEqual([
    { address: "192.0.2.1", port: 8443 },
    { address: "::", port: 8080 },
  ]);
});
