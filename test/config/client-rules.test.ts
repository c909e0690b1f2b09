/** Startup validation of client certificates: V-8, V-9 and V-27 for `auth.mtls`. */

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { faultLine } from "#config/load.ts";
import { readConfig } from "#config/read.ts";
import { bindingsOf } from "#core/access/binding-rows.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { configOf, loadText } from "#test/support/config.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";

const mtls = (members: string) => `auth: { mtls: { ${members} } }`;
const on = (bindings: string) => mtls(`enabled: true, ca_file: /ca.pem, bindings: [${bindings}]`);
const good = "{ subject_cn: a, subject: robot }";
const roles = "Every role must be one of admin, issuer, auditor, approver.";
const selector = "Needs an entry with a selector, because auth.mtls.enabled is true.";
const reserved = "Means something inside pkid; take another name.";

// biome-ignore format: the table is read by column.
const refusals = [
  ["V-8", mtls(`enabled: true, bindings: [${good}]`), "ca_file: Must be set, because auth.mtls.enabled is true."],
  ["V-8", on(""), `bindings: ${selector}`],
  ["V-8", on("{ subject: robot, roles: [admin] }"), `bindings: ${selector}`],
  ["V-8", on("{ subject_cn: '', san_dns: '', subject: robot }"), `bindings: ${selector}`],
  ["V-8", on("{ subject_cn: a }"), "bindings[0].subject: Must be set."],
  ["V-8", on(`${good}, { san_uri: a, subject: root }`), `bindings[1].subject: ${reserved}`],
  ["V-8", on("{ subject_cn: a, subject: 'Token:1' }"), `bindings[0].subject: ${reserved}`],
  ["V-8", on("{ subject_cn: a, subject: 'local:root' }"), `bindings[0].subject: ${reserved}`],
  ["V-8", on('{ subject_cn: a, subject: "bo\\u200bss" }'), "bindings[0].subject: Must have no control, format or invisible character."],
  ["V-8", on(`{ subject_cn: a, subject: ${"s".repeat(257)} }`), "bindings[0].subject: Must have at most 256 characters."],
  ["V-9", on("{ subject_cn: a, subject: robot, roles: [admin, owner] }"), `bindings[0].roles: ${roles}`],
  ["V-9", on("{ subject_cn: a, subject: robot, tenant_roles: { web: [Admin] } }"), `bindings[0].tenant_roles.web: ${roles}`],
  ["CFG-5", on("{ subject_dn: robot, subject: robot }"), "bindings[0].subject_dn: Must be a distinguished name by RFC 4514, like CN=robot,O=Example,C=DE."],
  ["CFG-5", on("{ san_dns: '', subject_cn: a, san_uri: 5, subject: robot }"), "bindings[0].san_uri: Must be text; put it in quotes."],
  ["CFG-5", on(`{ san_dns: "\\u2028", subject: robot }`), "bindings[0].san_dns: Must be a DNS name."],
  ["V-1", on("{ subject_cn: a, san_ip: 1.2.3.4, subject: robot }"), "bindings[0].san_ip: There is no such key. The nearest known key is auth.mtls.bindings[0].san_dns."],
] as const;

describe("a start is refused", () => {
  test.each(refusals)("%s: %s", (_id, text, sentence) => {
    const result = loadText(text);
    expect(result.ok ? [] : result.faults.map(faultLine)).toEqual([
      `config: auth.mtls.${sentence}`,
    ]);
  });

  test("V-2: where the port would speak cleartext, on which nobody shows a certificate", () => {
    const env = { PKID_ALLOW_INSECURE_HTTP: "1" };
    const result = loadText(on(good), env);
    expect(result.ok ? [] : result.faults.map(faultLine)).toEqual([
      "config: auth.mtls.enabled: Needs TLS on server.port, which PKID_ALLOW_INSECURE_HTTP switches off.",
    ]);
    expect(
      loadText(`${on(good)}\nserver: { tls: { self_issue: { enabled: true } } }`, env).ok,
    ).toBe(true);
  });

  test("V-27: with a file that is missing, holds nothing, or a certificate that cannot be read", () => {
    using folder = scratchDirectory();
    const root = OutsideCa.root("Outside");
    const faults = (name: string, content?: string) => {
      const file = content === undefined ? join(folder.path, name) : folder.write(name, content);
      const config = join(folder.path, "pkid.yaml");
      writeFileSync(config, on(good).replace("/ca.pem", file));
      const { loaded } = readConfig({ env: {}, configFile: config });
      return loaded.ok ? [] : loaded.faults.map(faultLine);
    };
    const unread = "The file holds no PEM certificates, or one that cannot be read.";
    const broken = root.pem.replace("MII", "AAA").replace("MIH", "AAA").replace("MIG", "AAA");
    expect(faults("good.pem", `# ours\n${root.pem}${root.pem}`)).toEqual([]);
    expect(faults("no.pem")[0]).toEndWith("no.pem does not exist.");
    for (const content of ["", "no certificate", broken, root.pem + broken]) {
      expect(faults("bad.pem", content)).toEqual([`config: auth.mtls.ca_file: ${unread}`]);
    }
  });
});

describe("a start is accepted", () => {
  test("with an entry that has no selector, which is dropped with a warning whatever it says", () => {
    const result = loadText(on(`{ name: all, roles: [owner] }, ${good}`));
    if (!result.ok) throw new Error("must load");
    expect(result.warnings).toEqual([
      "auth.mtls.bindings[0]: The entry has no selector and is dropped.",
    ]);
    const { bindings } = result.config.auth.mtls;
    expect(bindingsOf(bindings).map(({ subject }) => subject)).toEqual(["robot"]);
  });

  test("with a disabled block that is incomplete, without a word", () => {
    const result = loadText(mtls("bindings: [{ subject: root, roles: [owner] }]"));
    expect([result.ok, result.warnings]).toEqual([true, []]);
  });

  test("with every selector, in the form it is compared in", () => {
    const { mtls: block } = configOf(
      on(
        "{ name: n, subject_cn: A, subject_dn: 'CN=A', san_dns: A.Example, san_uri: 'urn:A', san_email: A@B.Example, subject: robot, roles: [issuer], tenant_roles: { web: [auditor] } }",
      ),
    ).auth;
    expect(bindingsOf(block.bindings)).toMatchObject([
      {
        name: "n",
        subject: "robot",
        roles: ["issuer"],
        tenantRoles: { web: ["auditor"] },
        selectors: {
          subjectCn: "A",
          sanDns: "a.example",
          sanUri: "urn:A",
          sanEmail: "A@b.example",
        },
      },
    ]);
  });
});
