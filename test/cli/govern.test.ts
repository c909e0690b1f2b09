/**
 * `pkid tenant`, `pkid grant` and the global `--tenant`, against an instance that only remembers.
 */

import { describe, expect, test } from "bun:test";

import { shell } from "#test/support/instances/shell.ts";

const id = "01234567-89ab-cdef-0123-456789abcdef";
const request = { resource: `ca/${id}`, entity_type: "user", role: "ca-issuer", scope: "self" };

// biome-ignore format: the table is read by column.
const requests = [
  ["tenant list --limit 5",                    "GET /api/tenants?limit=5", undefined],
  ["tenant list --q web",                      "GET /api/tenants?q=web", undefined],
  ["tenant create --slug web --name Web",      "POST /api/tenants", { slug: "web", name: "Web" }],
  ["tenant show web",                          "GET /api/tenants/web", undefined],
  ["tenant suspend web",                       "PUT /api/tenants/web/status", { status: "suspended" }],
  ["tenant activate web",                      "PUT /api/tenants/web/status", { status: "active" }],
  ["tenant usage web --days 3",                "GET /api/tenants/web/usage?days=3", undefined],
  ["tenant delete web --yes",                  "DELETE /api/tenants/web", undefined],
  [`grant list --resource ${id}`,              `GET /api/grants?resource=ca%2F${id}`, undefined],
  [`grant add --resource ca/${id} --user a --role ca-issuer`, "POST /api/grants", { ...request, entity_id: "a" }],
  [`grant remove --resource ${id} --group g --role ca-issuer --scope subtree`, "DELETE /api/grants", { ...request, entity_type: "group", entity_id: "g", scope: "subtree" }],
  [`grant effective --resource ${id} --user token:1`, `GET /api/grants/effective?resource=ca%2F${id}&subject=token%3A1`, undefined],
  ["--tenant web ca list",                     "GET /api/ca?tenant=web", undefined],
  ["audit list --tenant web",                  "GET /api/events?tenant=web", undefined],
  ["ca csr --tenant web --label r --cn R",     "POST /api/ca/csr", { label: "r", subject: { cn: "R" }, key_type: "ecdsa-p384", tenant_id: "web" }],
] as const;

describe("a command is one request to a row of the operations table", () => {
  test.each(requests)("%s", async (line, request, body) => {
    const { code, asked, stderr } = await shell(line.split(" "));
    const [method, path] = request.split(" ");
    expect([stderr, code]).toEqual(["", 0]);
    expect(asked).toEqual([{ method, path, body, actor: "operator" } as never]);
  });
});

test("a quota is set beside those that stand", async () => {
  const quotas = { max_certs_per_day: 5, max_active_certs: 7, rate_limit_per_second: 1 };
  const answers = () => ({ slug: "web", quotas });
  const line = "tenant quota web --active-certs 0 --burst 9".split(" ");
  const { asked, stdout } = await shell(line, { answers });
  expect(asked.map(({ method, body }) => [method, body])).toEqual([
    ["GET", undefined],
    ["PUT", { quotas: { ...quotas, max_active_certs: 0, rate_limit_burst: 9 } }],
  ]);
  expect(stdout).toContain("max certs per day:");
});

test("a grant names exactly one user or group", async () => {
  for (const more of ["", " --user a --group g"]) {
    const line = `grant add --resource ca/${id} --role ca-issuer${more}`;
    expect(await shell(line.split(" "))).toMatchObject({ code: 2, asked: [] });
  }
});

test("a command that concerns no tenant refuses the flag instead of passing it over", async () => {
  for (const line of [`ca show ${id} --tenant web`, "--tenant web profile list"]) {
    const { code, asked, stderr } = await shell(line.split(" "));
    expect([code, asked]).toEqual([2, []]);
    expect(stderr).toContain("--tenant");
  }
});
