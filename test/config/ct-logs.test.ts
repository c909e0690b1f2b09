/** Transparency logs in the configuration: keys, known logs, and profiles no log could satisfy. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { configuredLogs } from "#config/ct-logs.ts";
import { loadConfig } from "#config/load.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pkid-ct-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const newKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
const [first, second] = [newKey(), newKey()];
const der = (key: ReturnType<typeof newKey>) =>
  key.export({ type: "spki", format: "der" }).toString("base64");
const saved = (name: string, content: string) => {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
};

const a = () => ({ name: "a", url: "https://a.example/", operator: "A", public_key: der(first) });
const b = () => ({ name: "b", url: "https://b.example", operator: "B", public_key: der(second) });

/** What the logs and one profile's `ct` come to, with a fault per line. */
function logsOf(transparency: object, ct: object = {}) {
  const usages = { key_usages: ["digitalSignature"], ext_key_usages: ["serverAuth"] };
  const profile = { name: "p", ...usages, max_validity_days: 90, ct: { enabled: true, ...ct } };
  const loaded = loadConfig({
    env: { PKID_ALLOW_INSECURE_HTTP: "1" },
    host: "here",
    readFile: () => "",
    file: {
      name: "pkid.yaml",
      text: JSON.stringify({ certificate_transparency: transparency, profiles: [profile] }),
    },
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const { logs, faults } = configuredLogs(loaded.config);
  return { logs, faults: faults.map(({ path, sentence }) => `${path}: ${sentence}`) };
}

test("a key in place may be PEM, with its lines", () => {
  const pem = first.export({ type: "spki", format: "pem" }).toString();
  const { logs, faults } = logsOf({ logs: [{ ...a(), public_key: pem }] });
  expect(faults).toEqual([]);
  expect(logs[0]?.key.logId).toEqual(logsOf({ logs: [a()] }).logs[0]?.key.logId);
  expect(() => logsOf({ logs: [{ ...a(), public_key: "\u0007" }] })).toThrow("control characters");
});

test("keys come as base64 in place, or as PEM in a file", () => {
  const file = saved("key.pem", second.export({ type: "spki", format: "pem" }).toString());
  const { public_key: _key, ...bare } = b();
  const { logs, faults } = logsOf({ logs: [a(), { ...bare, public_key_file: file }] });
  expect(faults).toEqual([]);
  expect(logs).toMatchObject([
    { name: "a", url: "https://a.example", monitoringUrl: "https://a.example", usable: true },
    { name: "b", operator: "B", mmdSeconds: 86_400, api: "rfc6962" },
  ]);
});

test("a known log supplies operator, key and state by its address", () => {
  const file = saved(
    "logs.json",
    JSON.stringify({
      operators: [
        {
          name: "Known",
          logs: [{ url: "https://a.example/", key: der(first), state: { retired: {} } }],
          tiled_logs: [
            {
              submission_url: "https://b.example/",
              monitoring_url: "https://m.example/",
              key: der(second),
              state: { usable: {} },
            },
          ],
        },
      ],
    }),
  );
  const { logs, faults } = logsOf({
    known_logs_file: file,
    logs: [
      { name: "a", url: "https://a.example" },
      { name: "b", url: "https://b.example" },
    ],
  });
  expect(faults).toEqual([]);
  expect(logs).toMatchObject([
    { operator: "Known", usable: false, api: "rfc6962" },
    { operator: "Known", usable: true, api: "static", monitoringUrl: "https://m.example" },
  ]);
});

test("a log without name, address, operator or usable key is a fault of its own", () => {
  const { url: _url, ...homeless } = a();
  const { operator: _operator, ...nobody } = a();
  const { public_key: _key, ...silent } = a();
  const faultOf = (log: object) => logsOf({ logs: [log] }, { enabled: false }).faults;
  expect(faultOf(homeless)).toEqual(["certificate_transparency.logs[0].url: Must be set."]);
  expect(faultOf(nobody)[0]).toContain("operator: Must be set; no known log has this URL.");
  expect(faultOf(silent)[0]).toContain("public_key: Must be set; no known log has this URL.");
  for (const public_key of ["AAAA", "no base64 at all", "-----BEGIN PUBLIC KEY-----"]) {
    expect(faultOf({ ...a(), public_key })[0]).toContain("Must be an ECDSA P-256 or RSA");
  }
  expect(faultOf({ ...a(), api: "static" })[0]).toContain("monitoring_url: Must be set");
  expect(faultOf({ ...silent, public_key_file: join(folder, "none") })[0]).toContain(
    "cannot be read",
  );
  expect(faultOf({ ...a(), public_key_file: join(folder, "none") })[0]).toContain("Only one of");
});

test("two logs share neither name nor key", () => {
  const twins = [
    [a(), { ...b(), name: "a" }],
    [a(), { ...b(), public_key: der(first) }],
  ];
  for (const logs of twins) {
    const { faults } = logsOf({ logs }, { enabled: false });
    expect(faults).toEqual([
      "certificate_transparency.logs[1]: Has the name or the key of the log a.",
    ]);
  }
});

test("V-13: a profile whose policy its usable logs cannot meet stops the start", () => {
  const logs = [a(), { ...b(), operator: "A" }];
  const faultOf = (ct: object, given: readonly object[] = logs) =>
    logsOf({ logs: given }, ct).faults;
  expect(faultOf({ min_scts: 2 })).toEqual([]);
  expect(faultOf({ logs: ["c"] })).toEqual(["profiles[0].ct.logs: There is no log named c."]);
  expect(faultOf({ min_scts: 3 })).toEqual([
    "profiles[0].ct.min_scts: Needs 3 promises, but only 2 of its logs can be used.",
  ]);
  expect(faultOf({ min_scts: 2, logs: ["b"] })[0]).toContain("only 1 of its logs");
  expect(faultOf({ min_scts: 2 }, [a(), { ...b(), disabled: true }])[0]).toContain("only 1");
  const diverse = "profiles[0].ct.min_distinct_operators: Its usable logs are not of the operators";
  expect(faultOf({ min_distinct_operators: 2 })[0]).toContain(diverse);
  expect(faultOf({ policy: "chrome" })[0]).toContain(diverse);
  expect(faultOf({ require_operators: ["B"] })[0]).toContain(diverse);
  expect(faultOf({ policy: "chrome" }, [a(), b()])).toEqual([]);
  expect(faultOf({}, [])[0]).toContain("only 0 of its logs");
});

test("a log list that is not one is a fault", () => {
  for (const content of ["", "[]", "{}", "not json"]) {
    const known_logs_file = saved("bad.json", content);
    const { faults } = logsOf({ known_logs_file }, { enabled: false });
    expect(faults).toEqual([
      "certificate_transparency.known_logs_file: The file holds no log list of version 3.",
    ]);
  }
});
