/** What people are told to write into the configuration of their ACME clients. */

import { describe, expect, test } from "bun:test";

import { type ClientPlace, clientGuides, trustFile } from "#core/acme/clients.ts";

const open: ClientPlace = {
  directoryUrl: "https://pki.example.com/acme/directory",
  requireEab: false,
  terms: undefined,
  challengeTypes: ["http-01"],
};
const textsOf = (place: ClientPlace) =>
  clientGuides(place).map(({ client, about, lines }) => [client, [about, ...lines].join("\n")]);

describe("every client", () => {
  test("is given the directory, and the CAs that vouch for the server", () => {
    expect(clientGuides(open).map(({ client }) => client)).toEqual([
      "certbot",
      "lego",
      "Caddy",
      "acme.sh",
      "cert-manager",
    ]);
    for (const [, text] of textsOf(open)) {
      expect(text).toContain(open.directoryUrl);
      expect(text).toContain(trustFile);
    }
  });

  test("is given its lines for a credential where one is needed, and none elsewhere", () => {
    for (const [, text] of textsOf({ ...open, requireEab: true })) {
      expect(text).toContain("KID");
      expect(text).toContain("KEY");
    }
    for (const [, text] of textsOf(open))
      expect(text).not.toMatch(/\bKID\b|\bKEY\b|\beab\b|externalAccount/);
  });
});

test("each line of a shell that is broken off goes on", () => {
  for (const { lines } of clientGuides({ ...open, requireEab: true })) {
    for (const [at, line] of lines.entries()) {
      if (line.endsWith("\\")) expect(lines[at + 1]).toStartWith("  ");
    }
  }
});

test("what Kubernetes reads is YAML, and names the credential where it is kept", () => {
  const guide = clientGuides({ ...open, requireEab: true }).at(-1);
  expect(Bun.YAML.parse(guide?.lines.join("\n") ?? "")).toMatchObject({
    kind: "ClusterIssuer",
    spec: {
      acme: {
        server: open.directoryUrl,
        externalAccountBinding: { keyID: "KID", keySecretRef: { name: "pkid-eab", key: "hmac" } },
        solvers: [{ http01: { ingress: { ingressClassName: "nginx" } } }],
      },
    },
  });
});
