/**
 * A real OpenLDAP server of the test's own, on loopback over ldap and ldaps, with a few people and
 * groups.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openssl } from "#test/support/encodings/openssl.ts";

import { freePort } from "./free-port.ts";

export const slapdPath = ["/usr/sbin/slapd", "/usr/local/sbin/slapd"].find(existsSync);

export interface DirectoryServer {
  readonly ldapPort: number;
  readonly ldapsPort: number;
  /** File with the PEM of the CA that certified the server as `localhost`. */
  readonly caFile: string;
  stop(): Promise<void>;
}

export const suffix = "dc=example,dc=test";
export const serviceDn = `cn=pkid,${suffix}`;
export const servicePassword = "service secret/+:%&";

/** The password of everybody: the name and this. */
export const passwordOf = (uid: string): string => `${uid}'s password`;

/** Starts it; `certificateDays` is how long its certificate is good for. */
export async function startSlapd(certificateDays = 90): Promise<DirectoryServer> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-slapd-"));
  const [ldapPort, ldapsPort] = [await freePort(), await freePort()];
  certify(folder, certificateDays);
  mkdirSync(join(folder, "db"));
  writeFileSync(join(folder, "slapd.conf"), slapdConf(folder));
  writeFileSync(join(folder, "people.ldif"), people);
  const conf = ["-f", join(folder, "slapd.conf")];
  const added = spawnSync(slapdPath ?? "slapd", [
    "-T",
    "add",
    ...conf,
    "-l",
    join(folder, "people.ldif"),
  ]);
  if (added.status !== 0) throw new Error(`slapadd: ${added.stderr}`);
  const urls = `ldap://127.0.0.1:${ldapPort} ldaps://127.0.0.1:${ldapsPort}`;
  const server = Bun.spawn([slapdPath ?? "slapd", ...conf, "-h", urls, "-d", "0"], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  const onExit = () => server.kill("SIGKILL");
  process.on("exit", onExit);
  await listening(ldapsPort);
  return {
    ldapPort,
    ldapsPort,
    caFile: join(folder, "ca.pem"),
    stop: async () => {
      process.off("exit", onExit);
      server.kill("SIGTERM");
      await server.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A CA and a server certificate of it for `localhost`, and for nothing else. */
function certify(folder: string, days: number): void {
  const at = (name: string) => join(folder, name);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl([
    "req",
    "-x509",
    ...key,
    "-keyout",
    at("ca.key"),
    "-out",
    at("ca.pem"),
    "-days",
    "90",
    "-subj",
    "/CN=Directory CA",
  ]);
  openssl(["req", ...key, "-keyout", at("key.pem"), "-out", at("csr.pem"), "-subj", "/CN=ldap"]);
  writeFileSync(at("ext"), "subjectAltName=DNS:localhost\n");
  openssl([
    "x509",
    "-req",
    "-in",
    at("csr.pem"),
    "-CA",
    at("ca.pem"),
    "-CAkey",
    at("ca.key"),
    "-CAcreateserial",
    "-days",
    `${days}`,
    "-extfile",
    at("ext"),
    "-out",
    at("cert.pem"),
  ]);
}

async function listening(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const open = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: { data: () => {} },
    }).catch(() => undefined);
    open?.end();
    if (open !== undefined) return;
    await Bun.sleep(25);
  }
  throw new Error("slapd does not listen");
}

const slapdConf = (folder: string): string => `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCACertificateFile ${folder}/ca.pem
TLSCertificateFile ${folder}/cert.pem
TLSCertificateKeyFile ${folder}/key.pem
allow bind_anon_dn
database mdb
suffix "${suffix}"
directory ${folder}/db
rootdn "cn=admin,${suffix}"
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree="ou=groups,${suffix}" by dn.exact="${serviceDn}" read by * none
access to dn.subtree="ou=people,${suffix}" by dn.exact="${serviceDn}" read by self read by * none
access to * by dn.exact="${serviceDn}" read by * none
`;

const person = (uid: string, more = "") => `dn: uid=${uid},ou=people,${suffix}
objectClass: inetOrgPerson
uid: ${uid}
sn: ${uid}
cn: ${uid} Example
userPassword: ${passwordOf(uid)}
${more}
`;

const ops = `cn=ops,ou=groups,${suffix}`;

/** `memberOf` is what the overlay would write when members are added to a running server. */
const people = `dn: ${suffix}
objectClass: domain
dc: example

dn: ${serviceDn}
objectClass: person
cn: pkid
sn: pkid
userPassword: ${servicePassword}

dn: ou=people,${suffix}
objectClass: organizationalUnit
ou: people

dn: ou=groups,${suffix}
objectClass: organizationalUnit
ou: groups

${person("alice", `mail: alice@x.test\ndisplayName: Alice Example\ndepartmentNumber: 42\nmemberOf: ${ops}\n`)}
${person("bob")}
${person("carol", "uid: twin\n")}
${person("dave", "uid: twin\n")}
${person("root", "mail: alice@x.test\n")}
dn: ${ops}
objectClass: groupOfNames
cn: ops
member: uid=alice,ou=people,${suffix}

`;
