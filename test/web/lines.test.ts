/** The command line below each page: it exists, and shows what the page shows. */

import { describe, expect, test } from "bun:test";

import { parseAddress } from "#web/address.ts";
import { listLine } from "#web/pages/certificates/line.ts";
import { behind, eventMembers } from "#web/pages/events/members.ts";
import { pageOf } from "#web/routes.tsx";
import { shell } from "#test/support/instances/shell.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";

// biome-ignore format: the table is read by column.
const lines = [
  ["/",                                        "pkid monitor expiring"],
  ["/certificates?ca=issuing&status=held",     "pkid cert list --ca issuing --status held"],
  ["/certificates",                            "pkid cert list --help"],
  ["/certificates?ca=*&q=www",                 "pkid cert list --help"],
  ["/authorities",                             "pkid ca list"],
  [`/authorities/${id}`,                       `pkid ca show ${id}`],
  [`/authorities/${id}?tab=certificate`,       `pkid ca chain ${id}`],
  [`/authorities/${id}?tab=crl`,               `pkid crl status --ca ${id}`],
  [`/authorities/${id}?tab=cross`,             `pkid ca cross-signs ${id}`],
  [`/authorities/${id}?tab=rollover`,          `pkid ca rotation ${id}`],
  ["/issue",                                   "pkid cert issue --help"],
  ["/issue/many",                              "pkid cert issue-bulk --help"],
  [`/issue/result/${id}/7`,                    `pkid cert show 7 --ca ${id}`],
  [`/issue/request/${id}`,                     `pkid approvals show ${id}`],
  ["/revoke",                                  "pkid revoke bulk --help"],
  ["/revoke?ca=issuing&pattern=www&reason=superseded&all=true&profile=", "pkid revoke bulk --dry-run --ca issuing --pattern www --reason superseded --all"],
  ["/approvals?status=pending",                "pkid approvals list --status pending"],
  ["/approvals?decidable=true&class=ca.create", "pkid approvals list --decidable --class ca.create"],
  [`/approvals/${id}?status=pending`,          `pkid approvals show ${id}`],
  ["/events",                                  "pkid audit list"],
  ["/events?ca=issuing&action=cert.issue&from=2030-01-01&to=2030-01-31", "pkid audit list --action cert.issue --ca issuing --since 2030-01-01 --until 2030-02-01"],
  ["/enrolment",                               "pkid config show"],
  ["/enrolment/credentials?status=active",     "pkid acme eab list --status active"],
  ["/enrolment/accounts",                      "pkid acme accounts"],
  [`/enrolment/orders?account=${id}`,          `pkid acme orders --account ${id}`],
  ["/enrolment/replacements",                  "pkid acme replacements"],
  [`/enrolment/replacements/${id}`,            `pkid acme replacement show ${id}`],
  ["/people?tenant=shop",                      "pkid token list --tenant shop"],
  [`/people/grants?ca=${id}`,                  `pkid grant list --resource ${id}`],
  ["/people/tenants",                          "pkid tenant list"],
  [`/people/tenants/${id}`,                    `pkid tenant show ${id}`],
  ["/people/sessions",                         "pkid sessions list"],
  ["/people/passkeys",                         "pkid passkeys --help"],
  ["/operations",                              "pkid preflight"],
  ["/operations/keys",                         "pkid keys inventory"],
  ["/operations/ledger",                       "pkid hsm entries"],
  ["/operations/publication",                  "pkid preflight --only crl.freshness"],
  ["/operations/backup",                       "pkid backup status"],
  ["/operations/jobs",                         "pkid preflight --only leader.presence"],
  ["/operations/settings",                     "pkid config show --origin --json"],
  ["/operations/blocked",                      "pkid keys block list"],
  ["/manual/interface",                        "pkid manual"],
] as const;

describe("the line below a page", () => {
  test.each(lines)("of %s is %s", (address, line) => {
    const { pathname, search } = new URL(`https://pkid.test/console${address}`);
    const at = parseAddress(pathname, search);
    expect(pageOf(at)?.pkid(at)).toBe(line);
  });

  test.each(lines)("of %s is a command: %s", async (_, line) => {
    const [, ...argv] = line.split(" ");
    const { stderr, code } = await shell(argv, { answers: () => ({ items: [], total: 0 }) });
    // Wrong words, as the next test shows, and not what it finds.
    expect([code === usage, stderr]).toEqual([false, stderr]);
  });

  test.each(["pkid status", "pkid acme order list", "pkid audit list --result denied"])(
    "would not be %s, which is none",
    async (line) => {
      const { code } = await shell(line.split(" ").slice(1), { answers: () => ({}) });
      expect(code).toBe(usage);
    },
  );
});

test("a link puts neither another command nor an option into the line", () => {
  const lineOf = (path: string, search: string) => {
    const at = parseAddress(`/console${path}`, search);
    return pageOf(at)?.pkid(at);
  };
  expect(lineOf("/certificates/issuing/--server=https:%2F%2Fa.test", "")).toBe(
    "pkid cert show '' --ca issuing",
  );
  expect(lineOf("/certificates", "?ca=--server%3Dhttps://a.test&q=a;b")).toBe(
    "pkid cert list --ca '' --q 'a;b'",
  );
  expect(lineOf("/people/tenants/-x", "")).toBe("pkid tenant show ''");
  expect(lineOf("/authorities/it's%20$(x)", "")).toBe(String.raw`pkid ca show 'it'\''s $(x)'`);
});

test("the line that exports certificates has every filter of the list, and no option of a link", async () => {
  const members = {
    q: "a;b",
    status: "revoked",
    profile: undefined,
    expires_before: "2030-01-01",
    serial_prefix: "0x1f",
    public_key_sha256: "ab".repeat(32),
    certificate_sha256: "cd".repeat(32),
    requested_by: "--server=https://a.test",
  };
  const line = `${listLine("issuing", members)} --csv --all`;
  expect(line).toBe(
    `pkid cert list --ca issuing --status revoked --q 'a;b' --serial-prefix 0x1f --expires-before 2030-01-01 --by-public-key ${"ab".repeat(32)} --certificate-sha256 ${"cd".repeat(32)} --requested-by '' --csv --all`,
  );
  const argv = line
    .split(" ")
    .slice(1)
    .filter((word) => word !== "''" && word !== "--requested-by");
  const { stderr, code } = await shell(argv, { answers: () => ({ items: [], total: 0 }) });
  expect([code === usage, stderr]).toEqual([false, stderr]);
});

test("a day that ends a span of events is in it, and a moment stays what it is", () => {
  expect(eventMembers({ from: "2030-02-28", to: "2030-02-28" })).toMatchObject({
    from: "2030-02-28",
    to: "2030-03-01",
  });
  expect(behind("2030-12-31")).toBe("2031-01-01");
  expect(behind("2030-12-31T10:00:00Z")).toBe("2030-12-31T10:00:00Z");
  expect(behind("2030-99-99")).toBe("2030-99-99");
  expect(behind(undefined)).toBeUndefined();
});

const usage = 2;
