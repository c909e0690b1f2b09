/** What the shell asks and shows of ACME. */

import { describe, expect, test } from "bun:test";

import { shell } from "#test/support/instances/shell.ts";

const made = {
  id: "eab_3yXc1v0QmK2rT8uWz5bNfA",
  name: "web",
  hmac_key: "c2VjcmV0",
  directory_url: "https://pki.example.com/acme/directory",
};

describe("pkid acme eab create", () => {
  const argv = "acme eab create --name web --dns-suffix a.example,b.example".split(" ");

  test("asks for what the flags say, and leaves to the server what they do not", async () => {
    const more =
      "--dns-suffix c.example --ip-range 10.0.0.0/8 --max-uses 0 --expires-at 2027-01-31";
    const { asked, code } = await shell([...argv, ...more.split(" ")], { answers: () => made });
    expect(code).toBe(0);
    expect(asked.at(-1)).toMatchObject({
      method: "POST",
      path: "/api/acme/eab",
      body: {
        name: "web",
        dns_suffixes: ["a.example", "b.example", "c.example"],
        ip_ranges: ["10.0.0.0/8"],
        allow_wildcards: false,
        any_identifier: false,
        max_uses: 0,
        expires_at: "2027-01-31T00:00:00Z",
      },
    });
    const bare = (await shell(argv, { answers: () => made })).asked.at(-1)?.body;
    for (const member of ["directory", "profile", "max_uses", "expires_at", "expires_in_days"]) {
      expect(bare).not.toHaveProperty(member);
    }
  });

  test("tells kid, key and directory on stdout, and the key nowhere else", async () => {
    const { stdout, stderr } = await shell(argv, { answers: () => made });
    expect(stdout).toBe(
      "kid:       eab_3yXc1v0QmK2rT8uWz5bNfA\n" +
        "hmac key:  c2VjcmV0\n" +
        "directory: https://pki.example.com/acme/directory\n",
    );
    expect(stderr).not.toContain(made.hmac_key);
    const quiet = await shell([...argv, "--quiet", "--json"], { answers: () => made });
    expect([JSON.parse(quiet.stdout), quiet.stderr]).toEqual([made, ""]);
  });

  test("takes whole numbers only, and wants a name", async () => {
    for (const wrong of [
      ["--max-uses", "many"],
      ["--max-uses", "-1"],
    ]) {
      expect(await shell([...argv, ...wrong])).toMatchObject({ code: 2, asked: [] });
    }
    expect(await shell(["acme", "eab", "create"])).toMatchObject({ code: 2, asked: [] });
  });
});

describe("pkid acme eab revoke", () => {
  test("leaves the accounts alone unless told otherwise", async () => {
    const answers = () => ({ status: "revoked", bound_accounts: 2 });
    const { asked, stdout } = await shell(["acme", "eab", "revoke", made.id], { answers });
    expect(asked.at(-1)).toMatchObject({ method: "DELETE", path: `/api/acme/eab/${made.id}` });
    expect(stdout).toBe("status:         revoked\nbound accounts: 2\n");
  });

  test("ends them when asked to", async () => {
    const argv = ["acme", "eab", "revoke", made.id, "--deactivate-accounts"];
    const answers = () => ({
      status: "already_revoked",
      bound_accounts: 2,
      deactivated_accounts: 2,
    });
    const { asked, stdout } = await shell(argv, { answers });
    expect(asked.at(-1)?.path).toBe(`/api/acme/eab/${made.id}?accounts=deactivate`);
    expect(stdout).toContain("deactivated accounts: 2\n");
  });
});

test("orders are told with their names, certificates and no objects", async () => {
  const order = {
    id: "o1",
    account_id: "a1",
    status: "valid",
    serial: "12",
    expires: "2027-01-31T00:00:00.000000Z",
    identifiers: [
      { type: "dns", value: "*.a.example" },
      { type: "ip", value: "10.0.0.1" },
    ],
  };
  const answers = () => ({ items: [order], next_cursor: "", has_more: false, total: 1 });
  const { asked, stdout } = await shell(["acme", "orders", "--status", "valid"], { answers });
  expect(asked.at(-1)?.path).toBe("/api/acme/orders?status=valid");
  expect(stdout.split("\n").slice(0, 2)).toEqual([
    "ID  ACCOUNT ID  STATUS  SERIAL  EXPIRES               IDENTIFIERS",
    "o1  a1          valid   12      2027-01-31T00:00:00Z  *.a.example,10.0.0.1",
  ]);
});

test("an order is ended by its id, and the answer says what became of it", async () => {
  const answers = () => ({ status: "processing" });
  const { asked, stdout } = await shell(["acme", "order", "deactivate", "o1"], { answers });
  expect(asked.at(-1)).toMatchObject({
    method: "POST",
    path: "/api/acme/orders/o1:deactivate",
  });
  expect(stdout).toBe("processing\n");
});

test("authorizations are those of an account, which must be named", async () => {
  const one = {
    id: "z1",
    status: "valid",
    method: "dns-01",
    wildcard: true,
    expires: "2027-01-31T00:00:00.000000Z",
    identifier: { type: "dns", value: "a.example" },
  };
  const answers = () => ({ items: [one], next_cursor: "", has_more: false, total: 1 });
  const argv = ["acme", "authorizations", "--account", "a1"];
  const { asked, stdout } = await shell(argv, { answers });
  expect(asked.at(-1)?.path).toBe("/api/acme/authorizations?account=a1");
  expect(stdout).toContain("z1  valid   dns-01  true      2027-01-31T00:00:00Z  a.example\n");
  expect(await shell(argv.slice(0, 2))).toMatchObject({ code: 2, asked: [] });
});

test("accounts and authorizations are ended by their ids, and what is done is told", async () => {
  const answers = () => ({ status: "deactivated" });
  const account = await shell(["acme", "account", "deactivate", "a1"], { answers });
  const authorization = await shell(["acme", "authorization", "deactivate", "z1"], { answers });
  expect([account, authorization].map(({ asked, stdout }) => [asked.at(-1), stdout])).toMatchObject(
    [
      [{ method: "POST", path: "/api/acme/accounts/a1:deactivate" }, "deactivated\n"],
      [{ method: "POST", path: "/api/acme/authorizations/z1:deactivate" }, "deactivated\n"],
    ],
  );
});

test("a status that nothing has is refused before anybody is asked", async () => {
  for (const list of ["accounts", "orders", "eab list"]) {
    const argv = ["acme", ...list.split(" "), "--status", "good"];
    expect(await shell(argv)).toMatchObject({ code: 2, asked: [] });
  }
});

test("a plan may be of what a bulk revocation has revoked", async () => {
  const found = { ca_id: "c", ca_label: "issuing", total: 3, poll_seconds: 21_600 };
  const ca = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
  const argv = ["acme", "replace", "--ca", ca, "--operation-id", "op", "--within", "24h"];
  const { asked, code } = await shell([...argv, "--dry-run"], { answers: () => found });
  expect(code).toBe(0);
  expect(asked.at(-1)).toMatchObject({
    path: `/api/ca/${ca}/acme-replacements`,
    body: { operation_id: "op", within_seconds: 86_400, dry_run: true },
  });
});
