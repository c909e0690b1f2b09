/** Startup validation across keys and of the files that keys name. */

import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { faultLine } from "#config/load.ts";
import { readConfig } from "#config/read.ts";
import { mappingsOf } from "#core/access/role-mappings.ts";
import { profileOf } from "#config/sections/issuance.ts";
import { oids } from "#core/asn1/oids.ts";
import { leafExtensions, repeatedExtensions } from "#core/policy/certificate-extensions.ts";
import { profileJson } from "#core/policy/profiles.ts";
import { loadText } from "#test/support/config.ts";
import { makeKey } from "#test/support/encodings/x509.ts";

const tls = "server: { tls_cert: c.pem, tls_key: k.pem, tls: { self_issue: { enabled: true } } }";
const bare = "server: { tls: { self_issue: { enabled: false } } }";
const pg = "database: { driver: postgres";
const oidc = "auth: { oidc: { enabled: true, issuer_url: 'https://i'";
const oidcWhole = `${oidc}, client_id: a, redirect_url: 'https://a/cb'`;
const ldap = "auth: { ldap: { enabled: true, url: 'ldaps://d.test'";
const ldapWhole = `${ldap}, user_dn_template: 'uid=%s,dc=x'`;
const ldapSearch = `${ldap}, bind_dn: 'cn=s', bind_password: p, user_base_dn: 'dc=x'`;
const usages = "ext_key_usages: [serverAuth], key_usages: [digitalSignature]";
const only = (more: string) => `profiles: [{ name: a, ext_key_usages: [serverAuth], ${more} }]`;
const url = "dsn: 'postgres://u:p@h/db'";

// biome-ignore format: the table is read by column.
const refusals = [
  ["V-2", "server: { tls_cert: c.pem }", "server.tls_key: Both server.tls_cert and server.tls_key must be set, or none."],
  ["V-2", tls, "server.tls.self_issue.enabled: Must not be true together with server.tls_cert."],
  ["V-2", bare, "server.tls.self_issue.enabled: Without a certificate the port would speak cleartext; set server.tls_cert, or PKID_ALLOW_INSECURE_HTTP=1."],
  ["V-2", "server: { tls: { cipher_suites: [] } }", "server.tls.cipher_suites: Must name at least one; server.tls.min_version: 1.3 does without TLS 1.2."],
  ["V-13", "server: { tls: { self_issue: { profile: webb } } }", 'server.tls.self_issue.profile: There is no profile "webb".'],
  ["V-1", "server: { tls: { cipher_suites: [AES128-SHA] } }", "server.tls.cipher_suites[0]: Must be one of ECDHE-ECDSA-AES128-GCM-SHA256, ECDHE-RSA-AES128-GCM-SHA256, ECDHE-ECDSA-AES256-GCM-SHA384, ECDHE-RSA-AES256-GCM-SHA384, ECDHE-ECDSA-CHACHA20-POLY1305, ECDHE-RSA-CHACHA20-POLY1305, ECDHE-ECDSA-AES128-SHA, ECDHE-RSA-AES128-SHA, ECDHE-ECDSA-AES256-SHA, ECDHE-RSA-AES256-SHA."],
  ["V-3", "server: { unix_socket: { path: run/pkid.sock } }", "server.unix_socket.path: Must be an absolute path."],
  ["V-3", `server: { unix_socket: { path: /${"d".repeat(107)} } }`, "server.unix_socket.path: The path of a Unix socket has at most 107 octets."],
  ["V-3", "{ data_dir: /srv/ca, server: { unix_socket: { path: /srv/x/../ca/admin.sock } } }", "server.unix_socket.path: Must be another path than server.admin_socket.path."],
  ["V-1", "server: { unix_socket: { path: /s, mode: 0660 } }", 'server.unix_socket.mode: Must be three octal digits in quotes, such as "0660".'],
  ["V-3", `data_dir: /${"d".repeat(96)}`, "server.admin_socket.path: The path of a Unix socket has at most 107 octets."],
  ["V-1", "auth: { session: { cookie_name: __Host-pki, insecure: true } }", "auth.session.insecure: Must be false with a cookie_name of that prefix."],
  ["V-5", "{ access_log: { path: /x/a.db }, database: { driver: postgres, dsn: 'postgres://u@h/d' } }", "access_log.path: With postgres the access log is a table of the database; remove it."],
  ["V-5", "{ access_log: { path: /x/a.db }, database: { dsn: /x/a.db } }", "access_log.path: Must be another file than the database."],
  ["V-5", "database: { max_open_conns: 5 }", "database.max_open_conns: Has no meaning with sqlite; remove it."],
  ["V-5", `${pg} }`, "database.dsn: PostgreSQL needs a database URL."],
  ["V-5", `${pg}, dsn: 'host=h password=p' }`, "database.dsn: Must be a URL like postgres://user@host:5432/database."],
  ["V-5", `${pg}, dsn: 'postgres://u:%ZZ@h/d' }`, "database.dsn: Must be a URL like postgres://user@host:5432/database."],
  ["V-1", "pkcs11: { uri: 'pkcs11:token=a;slot-id=1' }", "pkcs11.uri: Must select by token, serial and manufacturer, and by nothing else."],
  ["V-1", "pkcs11: { uri: 'pkcs11:token=a?module-path=/m' }", "pkcs11.uri: Must select by token, serial and manufacturer, and by nothing else."],
  ["V-1", "pkcs11: { uri: 'pkcs11:token=a%2' }", "pkcs11.uri: Has a percent sign that begins no escape of UTF-8."],
  ["V-8", "auth: { oidc: { enabled: true, client_id: a, redirect_url: 'https://a' } }", "auth.oidc.issuer_url: Must be set, because auth.oidc.enabled is true."],
  ["V-8", "auth: { oidc: { enabled: true, issuer_url: 'https://i', redirect_url: 'https://a' } }", "auth.oidc.client_id: Must be set, because auth.oidc.enabled is true."],
  ["V-8", `${oidc}, client_id: a } }`, "auth.oidc.redirect_url: Must be set, because auth.oidc.enabled is true."],
  ["V-8", `${oidcWhole}, scopes: [email] } }`, "auth.oidc.scopes: Must have openid, or the provider says not who it is."],
  ["V-8", "oidc: { issuer_url: 'https://i' }", "oidc.client_id: Must be set together with oidc.issuer_url."],
  ["V-8", "auth: { webauthn: { enabled: true, origins: ['https://a.example'] } }", "auth.webauthn.rp_id: Must be set, because auth.webauthn.enabled is true."],
  ["V-8", "auth: { webauthn: { enabled: true, rp_id: a.example } }", "auth.webauthn.origins: Must be set, because auth.webauthn.enabled is true."],
  ["V-8", "auth: { webauthn: { enabled: true, rp_id: a.example, origins: ['https://a.example', 'https://evila.example'] } }", "auth.webauthn.origins[1]: Its host must be a.example or end in it."],
  ["V-9", `${oidcWhole}, role_mappings: [{ value: a, roles: [amdin] }] } }`, "auth.oidc.role_mappings[0].roles: Every role must be one of admin, issuer, auditor, approver."],
  ["V-9", `${oidcWhole}, role_mappings: [{ roles: [admin] }] } }`, "auth.oidc.role_mappings[0].value: Must be set."],
  ["V-25", "backup: { enabled: true, dir: /x }", "backup.enabled: Needs backup.recipients or backup.passphrase."],
  ["V-25", "backup: { enabled: true, passphrase: sixteen-and-more-characters }", "backup.enabled: Needs backup.dir or backup.s3.bucket."],
  ["V-25", "backup: { passphrase: sixteen-and-more-characters, recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p] }", "backup.passphrase: Must not be set together with backup.recipients."],
  ["V-22", "monitor: { warning_days: 6 }", "monitor.critical_days: Must not be above monitor.warning_days."],
  ["V-22", "monitor: { critical_days: 31 }", "monitor.critical_days: Must not be above monitor.warning_days."],
  ["V-25", "retention: { min_age_days: 90, prune_after_days: 89 }", "retention.prune_after_days: Must not be below retention.min_age_days."],
  ["V-22", "canary: { enabled: true }", "canary.cas: At least one CA is needed."],
  ["V-22", "canary: { enabled: true, cas: [a], interval_minutes: 1 }", "canary.timeout_seconds: Must be shorter than canary.interval_minutes."],
  ["V-22", "canary: { interval_minutes: 2, timeout_seconds: 120 }", "canary.timeout_seconds: Must be shorter than canary.interval_minutes."],
  ["V-22", "canary: { enabled: true, cas: [a], profile: canry }", "canary.profile: There is no profile \"canry\"."],
  ["V-1", "canary: { cas: [a, 'b c'] }", "canary.cas[1]: Must be 1 to 64 of the characters A-Z, a-z, 0-9, dot, underscore and hyphen."],
  ["V-23", "approvals: { enabled: true, default_threshold: 0 }", "approvals.enabled: Guards no class; give a threshold above 0."],
  ["V-23", "approvals: { enabled: true, thresholds: { ca.rotate: 0 } }", "approvals.enabled: Guards no class; give a threshold above 0."],
  ["V-23", "approvals: { thresholds: { ca.rotat: 1 } }", "approvals.thresholds.ca.rotat: There is no such class; it must be one of ca.create, ca.rotate, ca.retire, revocation.bulk, kek.rotate, token.create, cert.issue."],
  ["V-23", "approvals: { enabled: true, thresholds: { ca.rotate: 3 }, operators: { ca.rotate: [a, b, b] } }", "approvals.operators.ca.rotate: Names fewer people than the 3 whose approval is needed."],
  ["V-8", "auth: { ldap: { enabled: true, user_dn_template: 'uid=%s,dc=x' } }", "auth.ldap.url: Must be set, because auth.ldap.enabled is true."],
  ["V-9", `${ldapWhole}, role_mappings: [{ value: a, roles: [amdin] }] } }`, "auth.ldap.role_mappings[0].roles: Every role must be one of admin, issuer, auditor, approver."],
  ["V-10", "auth: { ldap: { enabled: true, url: 'ldaps://a ldap://b', user_dn_template: 'uid=%s' } }", "auth.ldap.start_tls: Must be true for ldap://, or passwords would go in clear; or use ldaps://."],
  ["V-10", `${ldap} } }`, "auth.ldap.bind_dn: Must be set, or else auth.ldap.user_dn_template."],
  ["V-10", `${ldap}, user_dn_template: 'uid=x' } }`, "auth.ldap.user_dn_template: Must have %s, where the login name goes."],
  ["V-10", `${ldapSearch} } }`, "auth.ldap.user_filter: Must be set with auth.ldap.bind_dn."],
  ["V-10", `${ldapSearch}, user_filter: '(uid=a)' } }`, "auth.ldap.user_filter: Must have %s, where the name of the person goes."],
  ["V-10", `${ldapSearch}, user_filter: '(uid=%s' } }`, "auth.ldap.user_filter: Must be one LDAP filter in parentheses."],
  ["V-10", `${ldapSearch}, user_filter: '(uid=%s)(a=b)' } }`, "auth.ldap.user_filter: Must be one LDAP filter in parentheses."],
  ["V-10", `${ldapWhole}, group_base_dn: 'dc=x' } }`, "auth.ldap.group_filter: Must be set together with auth.ldap.group_base_dn."],
  ["V-10", `${ldapWhole}, group_filter: '(a=%s)' } }`, "auth.ldap.group_base_dn: Must be set together with auth.ldap.group_filter."],
  ["V-10", `${ldapWhole}, group_base_dn: 'dc=x', group_filter: '(a=b)' } }`, "auth.ldap.group_filter: Must have %s or %u, where the name of the person goes."],
  ["V-10", `${ldap}, bind_dn: 'cn=s', user_base_dn: 'dc=x', user_filter: '(a=%s)' } }`, "auth.ldap.bind_password: Must be set together with auth.ldap.bind_dn."],
  ["V-10", `${ldap}, user_dn_template: '%s@x.test', user_filter: '(a=%s)' } }`, "auth.ldap.user_base_dn: Must be set when user_dn_template makes no DN."],
  ["V-10", `${ldap}, user_dn_template: 'sAMAccountName=%s,dc=x' } }`, "auth.ldap.user_dn_template: Active Directory names no entry by sAMAccountName: write %s@its.domain or DOMAIN\\%s, with user_base_dn and user_filter."],
  ["V-10", `${ldap}, user_dn_template: '%s@x.test', user_base_dn: 'dc=x', user_filter: '(mail=*%s*)' } }`, "auth.ldap.username_attribute: Must be set, because user_filter holds no attribute against the whole of %s."],
  ["CFG-5", "auth: { ldap: { url: 'http://d.test' } }", "auth.ldap.url: Must be 1 to 8 ldap:// or ldaps:// URLs of host and port, separated by spaces."],
  ["CFG-5", "auth: { ldap: { url: 'ldaps://a/dc=x' } }", "auth.ldap.url: Must be 1 to 8 ldap:// or ldaps:// URLs of host and port, separated by spaces."],
  ["V-9", "rbac: { subjects: { a: [Admin] } }", "rbac.subjects.a[0]: Must be one of admin, issuer, auditor, approver."],
  ["V-9", "rbac: { groups: { a: admin } }", "rbac.groups.a: Must be a list."],
  ["V-9", "tenants: [{ slug: web, rbac: { subjects: { a: [owner] } } }]", "tenants[0].rbac.subjects.a[0]: Must be one of admin, issuer, auditor, approver."],
  ["V-9", "rbac: { grants: [{ resource: ca/a, role: admin, users: [a] }] }", "rbac.grants[0].role: Must be one of ca-admin, ca-manager, ca-issuer, ca-auditor."],
  ["V-1", "rbac: { grants: [{ resource: a, role: ca-issuer, users: [a] }] }", "rbac.grants[0].resource: Must be ca/ and the id or label of a CA."],
  ["V-1", "rbac: { grants: [{ role: ca-issuer, users: [a] }] }", "rbac.grants[0].resource: Must be set."],
  ["V-1", "rbac: { grants: [{ resource: ca/a, role: ca-issuer }] }", "rbac.grants[0].users: At least one user or group is needed."],
  ["V-1", "tenants: [{ id: web }]", "tenants[0].slug: Must be set."],
  ["V-1", "tenants: [{ slug: Web }]", "tenants[0].slug: Must be 1 to 63 of a-z, 0-9 and hyphen, and not begin with a hyphen."],
  ["V-1", "tenants: [{ slug: web, quotas: { max_certs_per_day: -1 } }]", "tenants[0].quotas.max_certs_per_day: Must be at least 0."],
  ["V-1", "tenants: [{ id: a, slug: web }, { id: b, slug: web }]", "tenants[1].slug: web is the name of another tenant."],
  ["V-1", "tenants: [{ id: a, slug: web }, { slug: a }]", "tenants[1].slug: a is the name of another tenant."],
  ["V-1", "tenants: [{ id: default, slug: web }]", "tenants[0].id: default is the name of another tenant."],
  ["CFG-5", "oidc: { issuer_url: 'http://id.test', client_id: a }", "oidc.issuer_url: Must be an https URL without user info, query and fragment."],
  ["CFG-5", "auth: { session: { cookie_name: 'a;b' } }", "auth.session.cookie_name: Must be 1 to 64 of the characters A-Z, a-z, 0-9, dot, underscore and hyphen."],
  ["V-1", "auth: { session: { ttl_minutes: 0 } }", "auth.session.ttl_minutes: Must be at least 1."],
  ["V-11", "key_provider: { type: pkcs11 }", "pkcs11.module_path: Must be set, because key_provider.type is pkcs11."],
  ["V-11", "key_provider: { roles: { responder: pkcs11 } }", "pkcs11.module_path: Must be set, because key_provider.roles.responder is pkcs11."],
  ["V-11", "pkcs11: { uri: 'pkcs11:token=a', token_label: a }", "pkcs11.uri: Replaces token_label, token_serial and token_manufacturer; set one or the other."],
  ["V-12", "secret: { pqc_hybrid: true }", "secret.pqc_hybrid: Needs a key-encryption key; set secret.kek_label."],
  ["V-12", "key_provider: { software: { passphrase: x, master_key_file: /k } }", "key_provider.software.passphrase: Only one of passphrase and master_key_file may be set."],
  ["V-15", "crl: { shards: 2 }", "crl.shards: Needs crl.base_url or server.public_url for the pointers to them."],
  ["V-13", `profiles: [{ name: a, ${usages}, default_validity_days: 2, max_validity_days: 1 }]`, "profiles[0].default_validity_days: Must not be longer than the longest validity."],
  ["V-13", `profiles: [{ name: a, ${usages}, default_validity: 25h, max_validity_days: 1 }]`, "profiles[0].default_validity: Must not be longer than the longest validity."],
  ["V-13", `profiles: [{ name: a, ${usages}, max_validity: 1d, max_validity_days: 1 }]`, "profiles[0].max_validity: Only one of max_validity and max_validity_days may be set."],
  ["V-13", `profiles: [{ name: a, ${usages}, omit_revocation_pointers: true, max_validity_days: 8 }]`, "profiles[0].omit_revocation_pointers: Needs a longest validity of at most 7 days."],
  ["V-13", `profiles: [{ name: a, ${usages}, omit_revocation_pointers: true }]`, "profiles[0].omit_revocation_pointers: Needs a longest validity of at most 7 days."],
  ["V-13", `profiles: [{ name: a, ${usages}, pqc_key_type: ml-dsa-65 }]`, "profiles[0].pqc_key_type: Has no meaning with algorithm classical."],
  ["V-13", `profiles: [{ name: a, ${usages}, lint: { overrides: { no_such_rule: warn } } }]`, "profiles[0].lint.overrides.no_such_rule: There is no lint rule of this name."],
  ["V-13", `profiles: [{ name: a, ${usages}, lint: { overrides: { version_v3: warn } } }]`, "profiles[0].lint.overrides.version_v3: This rule cannot be changed."],
  ["V-13", `profiles: [{ name: canary, ${usages}, lint: { mode: warn } }]`, "profiles[0].lint: The lint of the canary profile cannot be relaxed."],
  ["V-13", `profiles: [{ name: a, ${usages}, caa: { mode: enforce } }]`, "profiles[0].caa.mode: Needs caa.identifier, or an identifier of the profile."],
  ["V-13", `profiles: [{ name: a, ${usages}, default_validity_days: 2, max_validity: 1d }]`, "profiles[0].default_validity_days: Must not be longer than the longest validity."],
  ["V-13", "profiles: [{ name: a, key_usages: [digitalSignature] }]", "profiles[0].ext_key_usages: Must be set, or its certificates would be good for every purpose."],
  ["V-13", only("key_usages: [digitalSignature, keyCertSign]"), "profiles[0].key_usages[1]: Must be one of digitalSignature, nonRepudiation, keyEncipherment, dataEncipherment, keyAgreement, encipherOnly, decipherOnly."],
  ["V-13", only("key_usages: [cRLSign]"), "profiles[0].key_usages[0]: Must be one of digitalSignature, nonRepudiation, keyEncipherment, dataEncipherment, keyAgreement, encipherOnly, decipherOnly."],
  ["V-13", only("key_usages: [digitalSignature, digitalSignature]"), "profiles[0].key_usages[1]: Stands there before."],
  ["V-13", "profiles: [{ name: a, key_usages: [digitalSignature], ext_key_usages: [serverAuth, 1.3.6.1.5.5.7.3.1] }]", "profiles[0].ext_key_usages[1]: Stands there before."],
  ["V-13", "profiles: [{ name: a, key_usages: [digitalSignature], ext_key_usages: [2.5.29.37.0] }]", "profiles[0].ext_key_usages[0]: Must not be every purpose; name those it is for."],
  ["V-13", "profiles: [{ name: a, key_usages: [digitalSignature], ext_key_usages: [1.50.3] }]", "profiles[0].ext_key_usages[0]: Must be a dotted OID or one of serverAuth, clientAuth, codeSigning, emailProtection, timeStamping, OCSPSigning."],
  ["V-13", `profiles: [{ name: a, ${usages}, policies: { oids: [1.2.3, 1.2.3] } }]`, "profiles[0].policies.oids[1]: Stands there before."],
  ["V-13", `profiles: [{ name: a, ${usages}, policies: { mappings: [1.2.3=1.2.4] } }]`, "profiles[0].policies.mappings: Needs policies.oids, to which they map."],
  ["V-13", `profiles: [{ name: a, ${usages}, policies: { oids: [1.2.4], mappings: [1.2.3=1.2.4, 1.2.3=1.2.4] } }]`, "profiles[0].policies.mappings[1]: Stands there before."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, policies: { oids: [1.2.4], mappings: ["1.2.3:1.2.4"] } }]`, "profiles[0].policies.mappings[0]: Must be two dotted OIDs with an equals sign between them."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, policies: { oids: [1.2.4], mappings: [1.2.3=2.5.29.32.0] } }]`, "profiles[0].policies.mappings[0]: Must not map anyPolicy."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, policies: { oids: [1.2.4], mappings: [1.2.3=1.2.4=1.2.5] } }]`, "profiles[0].policies.mappings[0]: Must be two dotted OIDs with an equals sign between them."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, names: { permitted_dns: [ex..test] } }]`, "profiles[0].names.permitted_dns[0]: Must be a domain, with a dot in front for what is below it only."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, names: { permitted_dns: ["."] } }]`, "profiles[0].names.permitted_dns[0]: Must be a domain, with a dot in front for what is below it only."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, names: { permitted_dns: [8.8.8.8] } }]`, "profiles[0].names.permitted_dns[0]: Must be a domain, with a dot in front for what is below it only."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, names: { permitted_emails: ["@ex.test"] } }]`, "profiles[0].names.permitted_emails[0]: Must be a domain, with a dot in front for what is below it only."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, names: { permitted_uris: ["https://"] } }]`, "profiles[0].names.permitted_uris[0]: Must be a scheme with its colon, or the beginning of a URI with a whole host."],
  ["CFG-5", `profiles: [{ name: a, ${usages}, names: { permitted_uris: ["https://good.example/a/../"] } }]`, "profiles[0].names.permitted_uris[0]: Must be a scheme with its colon, or the beginning of a URI with a whole host."],
  ["V-14", `crl: { base_url: 'http://a.test' }\nprofiles: [{ name: a, ${usages}, policies: { oids: [2.23.140.1.2.1] }, lint: { public: true } }]`, "profiles[0].caa.mode: Must not be off in a public profile."],
  ["V-14", `profiles: [{ name: a, ${usages}, caa: { mode: enforce, identifier: a.test }, policies: { oids: [2.23.140.1.2.1] }, lint: { public: true } }]`, "profiles[0].lint.public: Needs crl.base_url or server.public_url for the pointers it must have."],
  ["V-14", `crl: { base_url: 'http://a.test' }\nprofiles: [{ name: a, ${usages}, caa: { mode: enforce, identifier: a.test }, lint: { public: true } }]`, "profiles[0].policies.oids: Must be set, because lint.public is true."],
  ["V-16", "presign: { enabled: true, validity_minutes: 60, refresh_minutes: 31 }", "presign.refresh_minutes: Must be at most half of presign.validity_minutes."],
  ["V-16", "presign: { enabled: true, validity_minutes: 1 }", "presign.refresh_minutes: Must be at most half of presign.validity_minutes."],
  ["V-16", "presign: { enabled: true }\nserver: { ocsp_cache_ttl_seconds: -1 }", "presign.enabled: Needs the response cache; see server.ocsp_cache_ttl_seconds."],
  ["CFG-5", "caa: { dns_resolver: 'dns' }", "caa.dns_resolver: Must be a host and a port, like 192.0.2.53:53, [2001:db8::53]:53 or dns.example:53."],
  ["CFG-5", "acme: { dns_resolver: '192.0.2.300:53' }", "acme.dns_resolver: Must be a host and a port, like 192.0.2.53:53, [2001:db8::53]:53 or dns.example:53."],
  ["CFG-5", "acme: { vantage_resolvers: ['dns:53', 'dns:0'] }", "acme.vantage_resolvers[1]: Must be a host and a port, like 192.0.2.53:53, [2001:db8::53]:53 or dns.example:53."],
  ["CFG-5", "caa: { dns_resolver: '2001:db8::53:53' }", "caa.dns_resolver: Must be a host and a port, like 192.0.2.53:53, [2001:db8::53]:53 or dns.example:53."],
  ["CFG-10", `profiles: [{ name: a, ${usages} }, { name: A, ${usages} }]`, "profiles[1].name: There is another profile a; names must differ in more than case."],
  ["V-1", `profiles: [{ ${usages} }]`, "profiles[0].name: Must be set."],
  ["V-1", "root_user: { password: a, password_hash: '$argon2id$v=19$x' }", "root_user.password_hash: Only one of password and password_hash may be set."],
] as const;

describe("a start is refused", () => {
  test.each(refusals)("%s: %s", (_id, text, sentence) => {
    const result = loadText(text);
    expect(result.ok ? [] : result.faults.map(faultLine)).toEqual([`config: ${sentence}`]);
  });
});

// biome-ignore format: the table is read by column.
const accepted = [
  ["cleartext when the variable allows it", bare, { PKID_ALLOW_INSECURE_HTTP: "yes" }],
  ["a postgres database with its keys", `${pg}, ${url}, max_open_conns: 5 }`, {}],
  ["a postgres database whose URL has a source", `${pg}, dsn_source: { type: env, env: { var: D } } }`, {}],
  ["a passphrase instead of the key file", "key_provider: { software: { passphrase: x } }", {}],
  ["a default validity equal to the longest", `profiles: [{ name: a, ${usages}, default_validity: 24h, max_validity_days: 1 }]`, {}],
  ["CAA by the identifier of the instance", `{ caa: { identifier: ca.example }, profiles: [{ name: a, ${usages}, caa: { mode: enforce } }] }`, {}],
  ["CAA by the identifier of the profile", `profiles: [{ name: a, ${usages}, caa: { mode: enforce, identifier: ca.example } }]`, {}],
  ["CAA reported only, without an identifier", `profiles: [{ name: a, ${usages}, caa: { mode: permissive } }]`, {}],
  ["a public profile that asks CAA", `crl: { base_url: 'http://a.test' }\nprofiles: [{ name: a, ${usages}, lint: { public: true }, policies: { oids: [2.23.140.1.2.1] }, caa: { mode: permissive } }]`, {}],
  ["a canary that is off and has no CA", "canary: { profile: later }", {}],
  ["a probe that ends a second before the next one", "canary: { enabled: true, cas: [a], interval_minutes: 2, timeout_seconds: 119 }", {}],
  ["prefixes of URIs, and a scheme", `profiles: [{ name: a, ${usages}, names: { permitted_uris: ["spiffe:", "https://good.example", "urn:a:"] } }]`, {}],
  ["domains, and what is below one", `profiles: [{ name: a, ${usages}, names: { permitted_dns: [good.example, .good.example], permitted_emails: [good.example] } }]`, {}],
  ["a resolver by address", "caa: { dns_resolver: '[2001:db8::53]:5353' }", {}],
  ["resolvers by name", "{ acme: { dns_resolver: 'dns:53', vantage_resolvers: ['dns-2.example:5353'] }, caa: { dns_resolver: 'localhost:53' } }", {}],
  ["no revocation pointers for seven days", `profiles: [{ name: a, ${usages}, omit_revocation_pointers: true, max_validity: 168h }]`, {}],
] as const;

describe("a start is accepted", () => {
  test("with a disabled login block that is incomplete, whose unknown roles count for nothing", () => {
    const mapping = "{ roles: [nobody] }, { value: a, roles: [admin, nobody] }";
    const loaded = loadText(`auth: { oidc: { role_mappings: [${mapping}] } }`);
    if (!loaded.ok) throw new Error("must load");
    const { role_mappings, groups_claim } = loaded.config.auth.oidc;
    expect(mappingsOf(role_mappings, groups_claim)).toEqual([
      { claim: "groups", value: "a", tenant: undefined, roles: ["admin"] },
    ]);
  });

  test("with a login block that inherits from oidc, and comes back to the public URL", () => {
    const whole = `server: { public_url: "https://pki.test/" }
oidc: { issuer_url: "https://id.test/", client_id: pkid }
auth: { oidc: { enabled: true } }`;
    const loaded = loadText(whole);
    if (!loaded.ok) throw new Error("must load");
    expect(loaded.config.auth.oidc).toMatchObject({
      issuer_url: "https://id.test/",
      client_id: "pkid",
      redirect_url: "https://pki.test/auth/callback",
    });
  });

  test.each(accepted)("with %s", (_what, text, env) => {
    const result = loadText(text, env);
    expect(result.ok ? [] : result.faults.map(faultLine)).toEqual([]);
  });
});

test("policy mappings of a profile are shown, and stand in no leaf", () => {
  const mappings = "policies: { oids: [1.2.4], mappings: [1.2.3=1.2.4] }";
  const loaded = loadText(`profiles: [{ name: a, ${usages}, ${mappings} }]`);
  const [setting] = loaded.ok ? loaded.config.profiles : [];
  if (setting === undefined) throw new Error("must load");
  const profile = profileOf(setting);
  expect(profileJson(profile).policies).toEqual({
    oids: ["1.2.4"],
    critical: false,
    mappings: ["1.2.3=1.2.4"],
  });
  const leaf = leafExtensions({
    profile,
    keyUsages: ["digitalSignature"],
    spki: makeKey("ecdsa-p256").spki,
    sans: [],
    skiMethod: "rfc7093",
    emptySubject: false,
    mustStaple: false,
    repeated: repeatedExtensions({ id: "x", keyId: new Uint8Array(20), urlBase: undefined }),
  });
  const oidsOf = leaf.map(({ oid }) => oid);
  expect(oidsOf).toContain(oids.certificatePolicies);
  expect(oidsOf).not.toContain(oids.policyMappings);
});

describe("files (CFG-1, V-2, V-27)", () => {
  test("a configuration file that was named must exist", () => {
    const file = join(directory(), "missing.yaml");
    expect(faults({ configFile: file })).toEqual([`config: ${file}: The file does not exist.`]);
    expect(faults({ env: { PKID_CONFIG: file } })).toEqual([
      `config: ${file}: The file does not exist.`,
    ]);
  });

  test("the flag wins over the variable, and the data directory is looked into last", () => {
    const home = directory();
    const [one, two] = [join(home, "one.yaml"), join(home, "two.yaml")];
    for (const file of [one, two, join(home, "pkid.yaml")]) writeFileSync(file, "");
    const env = { PKID_CONFIG: two, PKID_DATA_DIR: home };
    expect(readConfig({ env, configFile: one }).fileName).toBe(one);
    expect(readConfig({ env }).fileName).toBe(two);
    expect(readConfig({ env: { PKID_DATA_DIR: home } }).fileName).toBe(join(home, "pkid.yaml"));
    const flags = { data_dir: home };
    expect(readConfig({ env: {}, flags }).fileName).toBe(join(home, "pkid.yaml"));
  });

  test("a file that was found is used only if it and its directory are of the user or of root alone", () => {
    const open = (path: string, mode: number) => chmodSync(path, mode);
    const assign = (path: string) => chownSync(path, 65_534, 65_534);
    const changes: readonly (readonly [string, (home: string, file: string) => void, string])[] = [
      ["written by the group", (_, file) => open(file, 0o664), "can be written by other users"],
      ["written by all", (_, file) => open(file, 0o602), "can be written by other users"],
      ["in a shared directory", (home) => open(home, 0o1777), "can be written by other users"],
      ["of another user", (_, file) => assign(file), "belongs to user 65534"],
      ["in another user's directory", (home) => assign(home), "belongs to user 65534"],
    ];
    const isRoot = process.geteuid?.() === 0;
    for (const [name, change, reason] of changes) {
      if (reason.startsWith("belongs") && !isRoot) continue;
      const home = directory();
      const file = join(home, "pkid.yaml");
      writeFileSync(file, "", { mode: 0o600 });
      const found = { env: { PKID_DATA_DIR: home } };
      expect([name, readConfig(found).loaded.ok]).toEqual([name, true]);
      change(home, file);
      const changed = readConfig(found).loaded;
      const message = changed.ok ? "" : changed.faults[0]?.sentence;
      expect([name, message]).toEqual([name, expect.stringContaining(reason)]);
      expect([name, readConfig({ env: {}, configFile: file }).loaded.ok]).toEqual([name, true]);
      const link = join(directory(), "pkid.yaml");
      symlinkSync(file, link);
      const behind = readConfig({ env: { PKID_DATA_DIR: dirname(link) } }).loaded;
      expect([name, behind.ok]).toEqual([name, false]);
    }
  });

  test("every list of weak keys is there and can be read to its last line", () => {
    const home = directory();
    const [good, bad, missing] = ["good.txt", "bad.txt", "missing.txt"].map((name) =>
      join(home, name),
    );
    writeFileSync(good ?? "", `# Debian\n${"0".repeat(20)}\n`);
    writeFileSync(bad ?? "", `${"0".repeat(40)}\nnone\n`);
    const file = join(home, "pkid.yaml");
    const lists = JSON.stringify([good, bad, missing]);
    writeFileSync(file, `keychecks: { weak_key_blocklist_paths: ${lists} }`);
    expect(faults({ configFile: file })).toEqual([
      `config: keychecks.weak_key_blocklist_paths[1]: ${bad}: line 2 is no digest of a key.`,
      `config: keychecks.weak_key_blocklist_paths[2]: ${missing} does not exist.`,
    ]);
  });

  test("nothing is created while validating", () => {
    const home = join(directory(), "absent");
    expect(readConfig({ env: { PKID_DATA_DIR: home } }).loaded.ok).toBe(true);
    expect(Bun.spawnSync(["ls", home]).exitCode).not.toBe(0);
  });

  test("what is trusted beside the system must be certificates", async () => {
    const home = directory();
    const { cert, key } = await pair(home, "one");
    const env = (file: string) => ({ PKID_DATA_DIR: home, PKID_OUTBOUND_CA_FILE: file });
    expect(faults({ env: env(cert) })).toEqual([]);
    expect(faults({ env: env(key) })).toEqual([
      "config: outbound.ca_file: The file holds no PEM certificates.",
    ]);
  });

  test("a serving pair must exist, be readable as PEM, and match", async () => {
    const home = directory();
    const [one, two] = [await pair(home, "one"), await pair(home, "two")];
    const env = (cert: string, key: string) => ({
      PKID_DATA_DIR: home,
      PKID_SERVER_TLS_CERT: cert,
      PKID_SERVER_TLS_KEY: key,
    });
    expect(faults({ env: env(one.cert, one.key) })).toEqual([]);
    expect(faults({ env: env(one.cert, two.key) })).toEqual([
      "config: server.tls_key: The key does not belong to server.tls_cert.",
    ]);
    expect(faults({ env: env(one.key, one.key) })).toEqual([
      "config: server.tls_cert: The file holds no PEM certificate.",
    ]);
    expect(faults({ env: env(one.cert, one.cert) })).toEqual([
      "config: server.tls_key: The file holds no unencrypted PEM private key.",
    ]);
    expect(faults({ env: env(`${home}/none`, home) })).toEqual([
      `config: server.tls_cert: ${home}/none does not exist.`,
      `config: server.tls_key: ${home} is not a regular file.`,
    ]);
  });

  test("a _FILE variable gives the text without its final newline, at most 64 KiB", () => {
    const file = join(directory(), "secret");
    const env = { PKID_ROOT_USER_PASSWORD_FILE: file };
    writeFileSync(file, "geheim\n");
    const { loaded } = readConfig({ env });
    const password = loaded.ok ? loaded.config.root_user.password : undefined;
    expect(password?.from === "value" && password.value.reveal()).toBe("geheim");
    writeFileSync(file, "x".repeat(65_537));
    expect(faults({ env })).toEqual([
      "config: root_user.password: PKID_ROOT_USER_PASSWORD_FILE: The file is larger than 64 KiB.",
    ]);
    writeFileSync(file, "\n");
    expect(faults({ env })).toEqual(["config: root_user.password: Must not be empty."]);
  });
});

function faults(from: Partial<Parameters<typeof readConfig>[0]>): string[] {
  const { loaded } = readConfig({ env: {}, ...from });
  return loaded.ok ? [] : loaded.faults.map(faultLine);
}

async function pair(home: string, name: string): Promise<{ cert: string; key: string }> {
  const [cert, key] = [join(home, `${name}.crt`), join(home, `${name}.key`)];
  const made = Bun.spawn(
    `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=${name} -keyout ${key} -out ${cert}`.split(
      " ",
    ),
    { stderr: "ignore" },
  );
  expect(await made.exited).toBe(0);
  return { cert, key };
}

const directory = (): string => mkdtempSync(join(tmpdir(), "pkid-config-"));
