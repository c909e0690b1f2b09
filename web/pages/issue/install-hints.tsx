/** How the certificate is put to use, with the names of its files filled in. */

import { useId } from "preact/hooks";
import { hrefWith } from "#web/address.ts";
import { useAddress } from "#web/console.ts";
import { Copy } from "#web/ui/copy.tsx";

interface InstallHintsProps {
  readonly stem: string;
  /** This tab gives key and certificate in a PKCS#12; else the key is a file of its person. */
  readonly keyHere: boolean;
}

/** One program at a time; which one stands in the address. */
export function InstallHints({ stem, keyHere }: InstallHintsProps) {
  const address = useAddress();
  const id = useId();
  const chosen = hints.find(({ word }) => word === address.query.tab) ?? hints[0];
  if (chosen === undefined) return null;
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>Install it</h2>
      <nav class="tabs" aria-label="Programs">
        {hints.map(({ word, name }) => (
          <a
            key={word}
            href={hrefWith(address, { tab: word })}
            aria-current={word === chosen.word ? "page" : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      {chosen.steps(stem, keyHere).map(({ say, lines }) => (
        <div key={say} class="step">
          <p>{say}</p>
          <div class="pre">
            <pre>{lines}</pre>
            <Copy text={lines} name={`lines: ${say}`}>
              Copy
            </Copy>
          </div>
        </div>
      ))}
    </section>
  );
}

interface Step {
  readonly say: string;
  readonly lines: string;
}

interface Hint {
  readonly word: string;
  readonly name: string;
  readonly steps: (stem: string, keyHere: boolean) => readonly Step[];
}

const keyThere = (stem: string, keyHere: boolean): Step =>
  keyHere
    ? {
        say: "Take the key out of the PKCS#12, readable by root alone",
        lines: `umask 077
openssl pkcs12 -in ${stem}.p12 -nocerts -nodes \\
  -out /etc/ssl/private/${stem}.key`,
      }
    : {
        say: "Put the key that your request was made with where root alone reads it",
        lines: `install -m 600 ${stem}.key \\
  /etc/ssl/private/${stem}.key`,
      };

const joined = (stem: string, keyHere: boolean): readonly Step[] =>
  keyHere
    ? []
    : [
        {
          say: "Join certificate and chain with the key that your request was made with",
          lines: `openssl pkcs12 -export \\
  -inkey ${stem}.key -in ${stem}.chain.pem \\
  -name ${stem} -out ${stem}.p12`,
        },
      ];

const chainThere = (stem: string): Step => ({
  say: "Put certificate and chain beside it",
  lines: `install -m 644 ${stem}.chain.pem \\
  /etc/ssl/certs/${stem}.chain.pem`,
});

const hints: readonly Hint[] = [
  {
    word: "nginx",
    name: "nginx",
    steps: (stem, keyHere) => [
      keyThere(stem, keyHere),
      chainThere(stem),
      {
        say: "Name both in the server block",
        lines: `ssl_certificate     /etc/ssl/certs/${stem}.chain.pem;
ssl_certificate_key /etc/ssl/private/${stem}.key;`,
      },
      { say: "Check and reload", lines: "nginx -t && systemctl reload nginx" },
    ],
  },
  {
    word: "apache",
    name: "Apache",
    steps: (stem, keyHere) => [
      keyThere(stem, keyHere),
      chainThere(stem),
      {
        say: "Name both in the virtual host",
        lines: `SSLEngine on
SSLCertificateFile    /etc/ssl/certs/${stem}.chain.pem
SSLCertificateKeyFile /etc/ssl/private/${stem}.key`,
      },
      { say: "Check and reload", lines: "apachectl configtest && systemctl reload apache2" },
    ],
  },
  {
    word: "windows",
    name: "Windows",
    steps: (stem, keyHere) => [
      ...joined(stem, keyHere),
      {
        say: "Import the PKCS#12 into the store of the machine (PowerShell, as administrator)",
        lines: `Import-PfxCertificate -FilePath .\\${stem}.p12 \`
  -CertStoreLocation Cert:\\LocalMachine\\My \`
  -Password (Read-Host -AsSecureString "Passphrase")`,
      },
      {
        say: "For IIS, bind it to the site by its thumbprint",
        lines: `New-WebBinding -Name "Default Web Site" \`
  -Protocol https -Port 443
(Get-WebBinding -Protocol https).AddSslCertificate("<thumbprint>", "My")`,
      },
    ],
  },
  {
    word: "java",
    name: "Java",
    steps: (stem, keyHere) => [
      ...joined(stem, keyHere),
      {
        say: "Java reads the PKCS#12 as a key store; see what is in it",
        lines: `keytool -list -v -storetype PKCS12 \\
  -keystore ${stem}.p12`,
      },
      {
        say: "Or copy it into a key store that exists",
        lines: `keytool -importkeystore -srcstoretype PKCS12 \\
  -srckeystore ${stem}.p12 \\
  -destkeystore keystore.p12`,
      },
      {
        say: "Tomcat, in server.xml within SSLHostConfig",
        lines: `<Certificate certificateKeystoreFile="conf/${stem}.p12"
             certificateKeystoreType="PKCS12"
             certificateKeystorePassword="…" />`,
      },
    ],
  },
  {
    word: "macos",
    name: "macOS",
    steps: (stem, keyHere) => [
      ...joined(stem, keyHere),
      {
        say: "Import the PKCS#12 into the key chain of the system",
        lines: `sudo security import ${stem}.p12 -f pkcs12 \\
  -k /Library/Keychains/System.keychain`,
      },
      {
        say: "If a macOS refuses it as too new, give it the old form, and delete that at once",
        lines: `openssl pkcs12 -in ${stem}.p12 -nodes -out ${stem}.tmp
openssl pkcs12 -export -legacy -in ${stem}.tmp \\
  -out ${stem}-old.p12 && rm ${stem}.tmp
sudo security import ${stem}-old.p12 -f pkcs12 \\
  -k /Library/Keychains/System.keychain
rm ${stem}-old.p12`,
      },
    ],
  },
];
