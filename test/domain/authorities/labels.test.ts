/** Labels of CAs that the configuration names cannot be taken by another tenant. */

import { beforeEach, describe, expect, test } from "bun:test";

import { defaultTenant, tenantId } from "#core/ids.ts";
import { type CaSetting, requireFreeLabel } from "#domain/authorities/labels.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import { ca, tenant } from "#test/support/stores/records.ts";
import { createMemoryStore, type MemoryStore } from "#test/support/stores/memory-store.ts";
import { somebody } from "#test/support/worlds/governed-world.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";

const web = tenantId("web");
const lab = tenantId("lab");

let store: MemoryStore;
let settings: readonly CaSetting[];

beforeEach(async () => {
  store = createMemoryStore();
  settings = [];
  await store.atomically(async (tx) => {
    for (const id of ["default", "web", "lab"]) await tx.tenants.ensure(tenant(id));
    await tx.cas.insert(ca({ label: "taken" }));
  });
});

const webAdmin = somebody("wanda", { web: ["admin"] });
const labAdmin = somebody("luca", { lab: ["admin"] });
const defaultAdmin = somebody("dana", { default: ["admin"] });
const create = (label: string, owner: typeof web, principal = rootOrigin.principal) =>
  requireFreeLabel(
    { store, caSettings: () => settings },
    { origin: { ...rootOrigin, principal }, tenant: owner, label },
  );
const isReserved = (result: Promise<void>) =>
  expectRefusal(result, "already_exists", { field: "label" });

test("a label that a CA has is refused, and every other one is free", async () => {
  await isReserved(create("taken", web));
  await create("free", web, webAdmin);
});

describe("a label that a setting names", () => {
  test("a label of a tenant belongs to that tenant, named by id or slug", async () => {
    settings = [{ reference: "edge", tenant: "web", setting: "acme.directories.web.ca_label" }];
    await create("edge", web, webAdmin);
    await create("edge", web);
    await isReserved(create("edge", lab, labAdmin));
    await isReserved(create("edge", defaultTenant));
    settings = [{ reference: "edge", tenant: "gone", setting: "acme.directories.x.ca_label" }];
    await isReserved(create("edge", web, webAdmin));
  });

  test("a label without tenant belongs to the default tenant and to administrators of the instance", async () => {
    settings = [{ reference: "issuing", tenant: undefined, setting: "acme.ca_label" }];
    await isReserved(create("issuing", web, webAdmin));
    await create("issuing", web);
    await create("issuing", defaultTenant, defaultAdmin);
  });

  test("a label of two settings belongs to the tenant that one of them names", async () => {
    settings = [
      { reference: "shared", tenant: undefined, setting: "canary.cas" },
      { reference: "shared", tenant: "web", setting: "acme.directories.web.ca_label" },
    ];
    await create("shared", web, webAdmin);
    await isReserved(create("shared", lab, labAdmin));
  });
});

test("the message names neither tenant nor setting", async () => {
  settings = [{ reference: "edge", tenant: "web", setting: "acme.directories.web.ca_label" }];
  const { message } = await create("edge", lab, labAdmin).then(
    () => new Error("accepted"),
    (error: Error) => error,
  );
  expect(message).toBe('The label "edge" is reserved for another tenant by the configuration.');
});
