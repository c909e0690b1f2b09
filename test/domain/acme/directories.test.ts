/** Where ACME is served, and by which CA, as the configuration in force says. */

import { beforeEach, describe, expect, test } from "bun:test";

import { caId, tenantId } from "#core/ids.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import { ca } from "#test/support/stores/records.ts";
import {
  type acmeSection,
  type BindingWorld,
  bindingWorld,
  labSection,
} from "#test/support/worlds/binding.ts";

let world: BindingWorld;
beforeEach(async () => {
  world = await bindingWorld();
});

const configure = (acme: Partial<typeof acmeSection>) => {
  world.current.acme = { ...world.current.acme, ...acme };
};
const further = labSection;

describe("directories", () => {
  test("AC-1: have their addresses from the configuration, the first one first", () => {
    const { directories } = world;
    expect(directories.all().map(({ name, path }) => [name, path])).toEqual([
      ["default", "/acme"],
      ["lab", "/acme-lab"],
    ]);
    expect(world.directory().url("/new-order")).toBe("https://pki.test/acme/new-order");
    expect(world.directory("lab").url("/")).toBe("https://pki.test/acme-lab/");
    expect(directories.named("nobody")).toBeUndefined();
    expect(directories.named("__proto__")).toBeUndefined();
  });

  test("have rules of their own, and the profiles that are offered in common", () => {
    configure({
      profiles: {
        short: { description: "Six days.", profile: "server" },
        plain: { description: undefined, profile: "client" },
      },
    });
    for (const [name, requireEab, profile] of [
      ["default", false, "server"],
      ["lab", true, "client"],
    ] as const) {
      expect(world.directory(name)).toMatchObject({ requireEab, profile });
      expect(world.directory(name).profiles).toEqual({
        short: { description: "Six days.", profile: "server" },
        plain: { description: "", profile: "client" },
      });
    }
  });

  test("are none while ACME is off, and follow what is put into force", () => {
    configure({ enabled: false });
    expect(world.directories.all()).toEqual([]);
    configure({ enabled: true, base_url: "https://other.test" });
    expect(world.directory().url("/x")).toBe("https://other.test/acme/x");
  });
});

describe("the CA of a directory", () => {
  const issuer = (name?: string) => world.directories.issuer(world.directory(name));

  test("is found by its label or its id", async () => {
    expect((await issuer()).id).toBe(caId("i1"));
    configure({ ca_label: undefined, ca_id: "i1" });
    expect((await issuer()).label).toBe("issuing");
  });

  test("may come to exist later, and is found from then on", async () => {
    configure({ ca_label: "later" });
    await expectRefusal(issuer(), "ca_not_active", { status: "absent" });
    expect(await world.directories.known(world.directory())).toBeUndefined();
    const pending = ca({ id: caId("p"), label: "later", status: "pending" });
    await world.store.atomically((tx) => tx.cas.insert(pending));
    await expectRefusal(issuer(), "ca_not_active", { status: "pending" });
    expect((await world.directories.known(world.directory()))?.status).toBe("pending");
  });

  test("P-1: is the member of the lineage that issues, whichever is named", async () => {
    const successor = ca({ id: caId("i2"), label: "issuing-r2", lineage: caId("i1") });
    await world.store.atomically(async (tx) => {
      await tx.cas.insert(successor);
      await tx.cas.supersede(caId("i1"), caId("i2"), undefined);
    });
    expect((await issuer()).id).toBe(caId("i2"));
    expect((await world.directories.ca(world.directory())).id).toBe(caId("i2"));
  });

  test("is still there for what was issued once nobody issues any more", async () => {
    const retired = ca({ id: caId("r"), label: "old", status: "retired" });
    await world.store.atomically((tx) => tx.cas.insert(retired));
    configure({ ca_label: "old" });
    expect((await world.directories.ca(world.directory())).id).toBe(caId("r"));
    await expectRefusal(issuer(), "ca_not_active", { status: "retired" });
  });

  test("is never that of another tenant than the directory names, nor an internal one", async () => {
    configure({ directories: { lab: { ...further, ca_label: "issuing" } } });
    await expectRefusal(issuer("lab"), "ca_not_active", { status: "absent" });
    const internal = ca({ id: caId("s"), label: "serving", internal: true });
    await world.store.atomically((tx) => tx.cas.insert(internal));
    configure({ ca_label: "serving" });
    await expectRefusal(issuer(), "ca_not_active", { status: "absent" });
  });

  test("may be of any tenant where the directory names none", async () => {
    configure({ directories: { lab: { ...further, tenant: undefined } } });
    expect((await issuer("lab")).tenant).toBe(tenantId("lab"));
  });
});
