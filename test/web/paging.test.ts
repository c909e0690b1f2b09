/** The address of a list leads both ways, also when it was copied. */

import { describe, expect, test } from "bun:test";

import { type Address, hrefOf, hrefWith, parseAddress } from "#web/address.ts";
import { tenantHref } from "#web/frame/tenant-href.ts";
import { pageAfter, pageBefore, panelWay, withoutPanelWay } from "#web/ui/paging.ts";

const at = (href: string): Address => {
  const { pathname, search } = new URL(href, "https://x.example");
  return parseAddress(pathname, search);
};
const pageOf = ({ query }: Address): number => Number(query.page ?? 1);
const on = (href: string, next: string): string =>
  hrefWith(at(href), pageAfter(at(href).query, pageOf(at(href)), next));
const back = (href: string): string =>
  hrefWith(at(href), pageBefore(at(href).query, pageOf(at(href))));

const first = hrefOf(["events"], { result: "denied" });
const walked = (pages: number): string[] => {
  const hrefs = [first];
  for (let n = 2; n <= pages; n++) hrefs.push(on(hrefs.at(-1) ?? first, `cursor-of_${n}`));
  return hrefs;
};

describe("the pages of a list", () => {
  test("lead back the way they led on", () => {
    const hrefs = walked(6);
    for (let n = 5; n >= 1; n--) expect(back(hrefs[n] ?? "")).toBe(hrefs[n - 1] ?? "");
    expect(back(first)).toBe(first);
  });

  test("keep a bounded way, behind which the first page is", () => {
    const hrefs = walked(40);
    const last = hrefs.at(-1) ?? "";
    expect(last.length).toBeLessThan(400);
    let href = last;
    for (let n = 0; n < 12; n++) href = back(href);
    expect(href).toContain("page=28");
    expect(back(href)).toBe(first);
  });

  test("lead to the first one from a link that knows no way", () => {
    expect(back(hrefOf(["events"], { result: "denied", cursor: "c", page: 3 }))).toBe(first);
  });

  test("in a panel leave those of the list beside it where they are, and go with the panel", () => {
    const second = walked(2)[1] ?? "";
    const deep = hrefWith(at(second), pageAfter(at(second).query, 1, "c1", panelWay));
    const deeper = hrefWith(at(deep), pageAfter(at(deep).query, 2, "c2", panelWay));
    expect(at(deeper).query).toEqual({
      ...at(second).query,
      panel_cursor: "c2",
      panel_page: "3",
      panel_earlier: "c1",
    });
    expect(hrefWith(at(deeper), pageBefore(at(deeper).query, 3, panelWay))).toBe(deep);
    expect(hrefWith(at(deep), pageBefore(at(deep).query, 2, panelWay))).toBe(second);
    expect(hrefWith(at(deeper), withoutPanelWay)).toBe(second);
    expect(hrefWith(at(deep), { dialog: "end" })).toContain("panel_cursor=c1");
    expect(at(tenantHref(at(deep), "other")).query).toEqual({ result: "denied", tenant: "other" });
  });

  test("begin anew with another filter, and stay under a panel and a dialog", () => {
    const third = at(walked(3)[2] ?? "");
    expect(hrefWith(third, { result: undefined })).toBe("/console/events");
    expect(hrefWith(third, { dialog: "export" })).toContain("earlier=cursor-of_2");
  });
});
