/** Another tenant is shown on the same page, with the filters that mean something there. */

import { expect, test } from "bun:test";

import { type Address, parseAddress } from "#web/address.ts";
import { tenantHref } from "#web/frame/tenant-href.ts";

const at = (href: string): Address => {
  const { pathname, search } = new URL(href, "https://x.example");
  return parseAddress(pathname, search);
};

test.each([
  ["/console/", "/console/?tenant=b"],
  [
    "/console/events?result=denied&ca=1&serial=2&tenant=a",
    "/console/events?result=denied&tenant=b",
  ],
  ["/console/events/17?action=cert.issue", "/console/events?action=cert.issue&tenant=b"],
  [
    "/console/certificates/ca/7?status=held&tab=chain&cursor=c&page=3&earlier=d",
    "/console/certificates?status=held&tenant=b",
  ],
  ["/console/authorities/1?dialog=rotate", "/console/authorities?tenant=b"],
  ["/console/people/tokens/1", "/console/people/tokens?tenant=b"],
  ["/console/issue/many?profile=server&ca=1", "/console/issue/many?profile=server&tenant=b"],
  [
    "/console/issue/many?profile=server&ca=1&operation=o",
    "/console/issue/many?profile=server&tenant=b",
  ],
  ["/console/revoke?ca=1&op=o", "/console/revoke?tenant=b"],
  ["/console/issue/result/1/2", "/console/issue?tenant=b"],
  ["/console/manual/chapters/backup", "/console/manual/chapters/backup?tenant=b"],
])("%s becomes %s", (from, to) => {
  expect(tenantHref(at(from), "b")).toBe(to);
});

test("all tenants have the thing that is open as well", () => {
  const from = at("/console/certificates/ca/7?ca=1&status=held&tenant=a&page=2&cursor=c");
  expect(tenantHref(from, undefined)).toBe("/console/certificates/ca/7?ca=1&status=held");
});
