/** A CA as `openssl ca` keeps it, made by openssl itself. */

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";

/** One directory with index, certificates, key and lists. */
export class OpensslCa {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** A new root with a key of this kind, as `openssl genpkey` or `req` names it. */
  static async make(options: { readonly key?: string; readonly cn?: string } = {}) {
    const ca = new OpensslCa(mkdtempSync(join(tmpdir(), "pkid-openssl-ca-")));
    const { key = "ec:P-256", cn = "Old Root" } = options;
    for (const name of ["newcerts", "private"]) mkdirSync(ca.file(name));
    ca.write("index.txt", "");
    ca.write("serial", "1000\n");
    ca.write("crlnumber", "2a\n");
    ca.write("openssl.cnf", configuration(ca.directory));
    const pair = key.startsWith("rsa:")
      ? ["-newkey", key]
      : ["-newkey", "ec", "-pkeyopt", `ec_paramgen_curve:${key.slice(3)}`];
    await ca.openssl([
      "req", "-x509", "-nodes", "-config", "openssl.cnf", ...pair, "-days", "3650",
      "-subj", `/O=Old Company/CN=${cn}`, "-extensions", "v3_ca",
      "-keyout", "private/cakey.pem", "-out", "cacert.pem",
    ]); // biome-ignore format: a command line.
    return ca;
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  read(name: string): string {
    return readFileSync(this.file(name), "utf8");
  }

  write(name: string, content: string): void {
    writeFileSync(this.file(name), content);
  }

  /** Issues for a name; gives the serial as the index has it. The key stays in `<cn>.key`. */
  async issue(
    cn: string,
    more: { readonly extensions?: string; readonly strings?: string } = {},
  ): Promise<string> {
    const serial = this.read("serial").trim();
    this.write("openssl.cnf", configuration(this.directory, more.strings));
    await this.openssl([
      "req",
      "-new",
      "-nodes",
      "-config",
      "openssl.cnf",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-subj",
      `/O=Old Company/CN=${cn}`,
      "-addext",
      `subjectAltName=DNS:${cn.replaceAll(" ", "-")}`,
      "-keyout",
      `${cn}.key`,
      "-out",
      `${cn}.csr`,
    ]);
    await this.openssl([
      "ca",
      "-batch",
      "-notext",
      "-config",
      "openssl.cnf",
      "-in",
      `${cn}.csr`,
      "-extensions",
      more.extensions ?? "server",
      "-out",
      `${cn}.pem`,
    ]);
    return serial;
  }

  async revoke(serial: string, reason = "superseded"): Promise<void> {
    const file = `newcerts/${serial}.pem`;
    const how = ["-revoke", file, "-crl_reason", reason];
    await this.openssl(["ca", "-config", "openssl.cnf", ...how]);
  }

  /** Signs a list to `crl.pem`. */
  async sign(): Promise<void> {
    await this.openssl(["ca", "-config", "openssl.cnf", "-gencrl", "-out", "crl.pem"]);
  }

  async openssl(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await ran(["openssl", ...args], { cwd: this.directory });
    if (code !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
    return stdout;
  }
}

const configuration = (directory: string, strings = "utf8only") => `[ca]
default_ca = this
[this]
dir = ${directory}
database = $dir/index.txt
new_certs_dir = $dir/newcerts
certificate = $dir/cacert.pem
private_key = $dir/private/cakey.pem
serial = $dir/serial
crlnumber = $dir/crlnumber
default_md = sha256
default_days = 300
default_crl_days = 30
policy = any
copy_extensions = copy
unique_subject = no
[any]
organizationName = optional
commonName = supplied
[req]
string_mask = ${strings}
distinguished_name = dn
[dn]
[v3_ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:FALSE
keyUsage = digitalSignature
extendedKeyUsage = serverAuth
[sub_ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
`;
