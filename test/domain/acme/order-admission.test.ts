/** The checks of newOrder, repeated when the certificate of an order is requested (FIN-3). */

import { beforeEach, describe, expect, test } from "bun:test";

import { caId, defaultTenant, tenantId } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { type OrderDeps, Orders } from "#domain/acme/orders.ts";
import type { AccountRecord, OrderRecord } from "#domain/acme/store.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import * as make from "#test/support/stores/acme-records.ts";
import {
  account,
  type acmeSection,
  bindingWorld,
  type BindingWorld,
  labSection,
} from "#test/support/worlds/binding.ts";

let world: BindingWorld;
let orders: Orders;
let owner: AccountRecord;
let order: OrderRecord;

beforeEach(async () => {
  const offered = { description: "", profile: "client" };
  world = await bindingWorld({ acme: { profiles: { clients: offered } } });
  const profiles = () => new ProfileSet([]);
  orders = new Orders({ ...world, profiles, hasRoom: () => true } as unknown as OrderDeps);
  owner = account();
  order = createOrder();
});

const createOrder = (fields: Partial<OrderRecord> = {}): OrderRecord =>
  make.order([make.authorization({ account: owner.id })], {
    account: owner.id,
    tenant: defaultTenant,
    caId: caId("i1"),
    profile: "server",
    ...fields,
  });
const readmit = (one = order) => orders.readmit(world.directory(), owner, one);
const expectReason = (reason: string, one = order) =>
  expectRefusal(readmit(one), "acme_unauthorized", { reason });
const setSection = (more: Partial<typeof acmeSection>) => {
  world.current.acme = { ...world.current.acme, ...more };
};

test("an order whose checks still hold is issued by the CA of its directory", async () => {
  expect((await readmit()).id).toBe(caId("i1"));
  expect((await readmit(createOrder({ profile: "clients" }))).id).toBe(caId("i1"));
});

describe("an order that no longer passes the checks", () => {
  test("an order is refused if its directory leads to the CA of another tenant", async () => {
    setSection({ ca_label: "lab-issuing" });
    await expectReason("the account is of another tenant");
    owner = { ...owner, tenant: tenantId("lab") };
    await expectReason("the order is of another tenant");
  });

  test("an order is refused under another directory", async () => {
    await expectReason("the order is of another directory", createOrder({ directory: "lab" }));
  });

  test("an order is refused if its directory names a CA outside its tenant", async () => {
    setSection({ directories: { lab: { ...labSection, ca_label: "issuing" } } });
    const result = orders.readmit(world.directory("lab"), owner, createOrder({ directory: "lab" }));
    await expectRefusal(result, "ca_not_active", { status: "absent" });
  });

  test("an order is refused if its profile is no longer offered", async () => {
    setSection({ profiles: {} });
    await expectReason(
      "the profile of the order is no longer offered",
      createOrder({ profile: "clients" }),
    );
    // The name of a profile of certificates is not an offer.
    await expectReason(
      "the profile of the order is no longer offered",
      createOrder({ profile: "client" }),
    );
  });

  test("an order is refused if its credential is revoked or excludes its names", async () => {
    const { credential } = await world.credentials.create(rootOrigin, await world.request());
    owner = { ...owner, eabId: credential.id };
    await expectRefusal(readmit(), "acme_rejected_identifier", {
      reason: "the name is not permitted here",
    });
    await world.credentials.revoke(rootOrigin, credential);
    await expectReason("the credential of the account is revoked");
  });
});
