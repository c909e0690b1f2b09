/** Which addresses validation may connect to, with each form an address can take. */

import { describe, expect, test } from "bun:test";
import { BlockList } from "node:net";

import { isLoopback, isUnspecified, judgeAddress, sameHost } from "#core/acme/networks.ts";
import { ipText } from "#core/x509/addresses.ts";
import fc from "fast-check";

const deny = ["127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "ff00::/8"];
const permitted = (address: string, allow: readonly string[] = []) =>
  judgeAddress(address, { deny, allow }).permitted;

describe("P-10: denied is", () => {
  // biome-ignore format: the table is read by column.
  test.each([
    ["loopback",                        "127.0.0.1"],
    ["all of loopback",                 "127.255.255.254"],
    ["loopback of IPv6",                "::1"],
    ["link-local",                      "169.254.1.1"],
    ["link-local of IPv6",              "fe80::1"],
    ["multicast",                       "239.1.2.3"],
    ["multicast of IPv6",               "ff02::1"],
    ["an IPv4-mapped address",          "::ffff:127.0.0.1"],
    ["the same in hex",                 "::ffff:7f00:1"],
    ["an IPv4-compatible address",      "::127.0.0.1"],
    ["6to4",                            "2002:7f00:1::1"],
    ["NAT64",                           "64:ff9b::7f00:1"],
    ["NAT64 of the local prefix",       "64:ff9b:1::127.0.0.1"],
    ["NAT64 of it with 48 bits",        "64:ff9b:1:7f00:0:100::"],
    ["NAT64 of it with 64 bits",        "64:ff9b:1:0:7f:0:100::"],
    ["a Teredo server",                 "2001:0:7f00:1::1"],
    ["a Teredo client",                 "2001:0:a00:1::80ff:fffe"],
    ["ISATAP",                          "2001:db8::5efe:7f00:1"],
    ["global ISATAP",                   "2001:db8::200:5efe:7f00:1"],
    ["text that is no address",         "localhost"],
    ["an address with a zone",          "fe80::1%eth0"],
    ["an address in other notations",   "0x7f.1"],
  ])("%s", (_what, address) => {
    expect(permitted(address)).toBe(false);
    // Whoever removes the deny networks still gets no text connected to.
    expect(permitted("192.0.2.1")).toBe(true);
  });
});

test("metadata services, and what leads to the host itself, are denied with no deny network at all", () => {
  const never = ["169.254.169.254", "fd00:ec2::254", "168.63.129.16", "0.0.0.0", "::", "0.1.2.3"];
  for (const address of [...never, "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "::ffff:0:0"]) {
    expect(judgeAddress(address, { deny: [], allow: [] }).permitted, address).toBe(false);
  }
  const allow = ["169.254.169.254/32"];
  expect(judgeAddress("169.254.169.254", { deny, allow })).toEqual({
    permitted: true,
    listed: true,
  });
  expect(judgeAddress("169.254.169.253", { deny: [], allow }).permitted).toBe(true);
});

test("allow wins over deny, for the form that it names and for no other", () => {
  expect(permitted("127.0.0.2", ["127.0.0.2/32"])).toBe(true);
  expect(permitted("127.0.0.3", ["127.0.0.2/32"])).toBe(false);
  expect(permitted("::ffff:127.0.0.2", ["127.0.0.2/32"])).toBe(true);
  expect(permitted("::1", ["::1/128"])).toBe(true);
  // The outer address is named, where its gateway leads to is not.
  expect(permitted("2002:7f00:1::1", ["2002::/16"])).toBe(false);
  expect(permitted("2002:7f00:1::1", ["2002::/16", "127.0.0.0/8"])).toBe(true);
});

test("private networks and ordinary addresses are permitted, NAT64 and 6to4 of them too", () => {
  const ordinary = ["10.0.0.1", "192.168.1.1", "fd00::1", "2001:db8::1", "64:ff9b::808:808"];
  for (const address of [...ordinary, "64:ff9b:1::10.0.0.1", "2002:808:808::1"]) {
    expect(judgeAddress(address, { deny, allow: [] }), address).toEqual({
      permitted: true,
      listed: false,
    });
  }
});

test("IPv4 is judged as the runtime's block list judges it", () => {
  const list = new BlockList();
  for (const [network, bits] of [
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["224.0.0.0", 4],
    ["0.0.0.0", 8],
  ] as const) {
    list.addSubnet(network, bits, "ipv4");
  }
  for (const never of ["255.255.255.255", "168.63.129.16", "100.100.100.200", "192.0.0.192"]) {
    list.addAddress(never, "ipv4");
  }
  const octets = fc.uint8Array({ minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(octets, (address) => {
      const text = ipText(address);
      expect(permitted(text)).toBe(!list.check(text, "ipv4"));
      expect(permitted(`::ffff:${text}`)).toBe(permitted(text));
      expect(
        permitted(ipText(Uint8Array.of(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, ...address))),
      ).toBe(permitted(text));
    }),
  );
});

test("hosts are compared by address, not by spelling", () => {
  expect(sameHost("192.0.2.1", "::ffff:192.0.2.1")).toBe(true);
  expect(sameHost("2001:DB8::1", "2001:db8:0::1")).toBe(true);
  expect(sameHost("192.0.2.1", "192.0.2.2")).toBe(false);
  expect(sameHost("x", "x")).toBe(false);
  expect([isUnspecified("::"), isUnspecified("0.0.0.0"), isUnspecified("0.0.0.1")]).toEqual([
    true,
    true,
    false,
  ]);
  expect([isLoopback("::ffff:127.1.1.1"), isLoopback("::1"), isLoopback("10.0.0.1")]).toEqual([
    true,
    true,
    false,
  ]);
});
