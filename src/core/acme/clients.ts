/** What people write into the configuration of their ACME clients, for one directory. */

/** The directory, as clients are told of it. */
export interface ClientPlace {
  /** The address of its directory document. */
  readonly directoryUrl: string;
  readonly requireEab: boolean;
  /** Absent where none must be agreed to. */
  readonly terms: string | undefined;
  /** Ways to prove a name, as clients call them. */
  readonly challengeTypes: readonly string[];
}

/** Lines of one client, and what is to be known of them. */
export interface ClientGuide {
  readonly client: string;
  readonly about: string;
  readonly lines: readonly string[];
}

/**
 * One for each client that is common; what is to be replaced stands in capitals. Binding lines
 * (RFC 8555 §7.3.4) are there only where the directory wants them.
 */
export const clientGuides = (place: ClientPlace): readonly ClientGuide[] => [
  certbot(place),
  lego(place),
  caddy(place),
  acmeSh(place),
  kubernetes(place),
];

/** Where the guides look for the CAs that vouch for the server itself. */
export const trustFile = "/etc/ssl/pkid-ca.pem";

const certbot = ({ directoryUrl, requireEab }: ClientPlace): ClientGuide => ({
  client: "certbot",
  about: "Its own web server proves the name on port 80; it renews by a timer of its package.",
  lines: [
    `export REQUESTS_CA_BUNDLE=${trustFile}`,
    `certbot certonly --server ${directoryUrl} \\`,
    ...(requireEab ? ["  --eab-kid KID --eab-hmac-key KEY \\"] : []),
    "  --standalone --domain www.example.com --agree-tos --email you@example.com",
  ],
});

const lego = ({ directoryUrl, requireEab }: ClientPlace): ClientGuide => ({
  client: "lego",
  about: "The same with renew in place of run renews, as the server suggests.",
  lines: [
    `export LEGO_CA_CERTIFICATES=${trustFile}`,
    `lego --server ${directoryUrl} \\`,
    ...(requireEab ? ["  --eab --kid KID --hmac KEY \\"] : []),
    "  --http --domains www.example.com --accept-tos --email you@example.com run",
  ],
});

const caddy = ({ directoryUrl, requireEab }: ClientPlace): ClientGuide => ({
  client: "Caddy",
  about: "In the Caddyfile; it gets and renews a certificate for every site by itself.",
  lines: [
    "{",
    `  acme_ca ${directoryUrl}`,
    `  acme_ca_root ${trustFile}`,
    ...(requireEab ? ["  acme_eab {", "    key_id KID", "    mac_key KEY", "  }"] : []),
    "}",
    "www.example.com {",
    "  reverse_proxy localhost:8080",
    "}",
  ],
});

const acmeSh = ({ directoryUrl, requireEab }: ClientPlace): ClientGuide => ({
  client: "acme.sh",
  about: "It keeps server and account, and renews from cron.",
  lines: [
    `acme.sh --register-account --server ${directoryUrl} \\`,
    ...(requireEab ? ["  --eab-kid KID --eab-hmac-key KEY \\"] : []),
    `  --ca-bundle ${trustFile} --email you@example.com`,
    `acme.sh --issue --server ${directoryUrl} --ca-bundle ${trustFile} \\`,
    "  --standalone --domain www.example.com",
  ],
});

const kubernetes = ({ directoryUrl, requireEab }: ClientPlace): ClientGuide => ({
  client: "cert-manager",
  about: `In Kubernetes; caBundle is ${trustFile} in base64, on one line.`,
  lines: [
    ...(requireEab
      ? ["# kubectl -n cert-manager create secret generic pkid-eab --from-literal hmac=KEY"]
      : []),
    "apiVersion: cert-manager.io/v1",
    "kind: ClusterIssuer",
    "metadata:",
    "  name: pkid",
    "spec:",
    "  acme:",
    `    server: ${directoryUrl}`,
    "    caBundle: BASE64",
    "    privateKeySecretRef:",
    "      name: pkid-account",
    ...(requireEab
      ? [
          "    externalAccountBinding:",
          "      keyID: KID",
          "      keySecretRef:",
          "        name: pkid-eab",
          "        key: hmac",
        ]
      : []),
    "    solvers:",
    "      - http01:",
    "          ingress:",
    "            ingressClassName: nginx",
  ],
});
