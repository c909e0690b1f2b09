/**
 * Return values are read from every shape of error pkcs11js throws, and mean what the table says.
 */

import { expect, test } from "bun:test";

import { returnValueOf, returnValues } from "#adapters/keys/pkcs11/rv.ts";

test("an error with a code, a plain one with the number in its text, and both together read alike", () => {
  const coded = Object.assign(new Error("CKR_DEVICE_ERROR"), { code: 0x30 });
  const plain = new Error("CKR_DEVICE_ERROR:48\n    at PKCS11.C_SetAttributeValue");
  const both = Object.assign(new Error("CKR_DEVICE_ERROR:48"), { code: 0 });
  for (const fault of [coded, plain, both]) {
    expect(returnValueOf(fault)).toEqual({ rv: 0x30, name: "CKR_DEVICE_ERROR", action: "restart" });
  }
});

test("an error that is not the module's has no return value", () => {
  const system = Object.assign(new Error("no such file"), { code: "ENOENT" });
  for (const fault of [new TypeError("bad argument"), system, "CKR_OK:0", undefined]) {
    expect(returnValueOf(fault)).toBeUndefined();
  }
});

test("a number nobody knows asks for a fresh process", () => {
  const vendor = new Error("CKR_VENDOR_DEFINED:2147483649");
  expect(returnValueOf(vendor)).toMatchObject({ rv: 0x8000_0001, action: "restart" });
});

test("no PIN fault is ever met with another attempt", () => {
  const pinFaults = Object.values(returnValues).filter(([name]) => name.includes("PIN"));
  expect(pinFaults.length).toBeGreaterThan(4);
  expect(new Set(pinFaults.map(([, action]) => action))).toEqual(new Set(["operator"]));
});
