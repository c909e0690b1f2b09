/**
 * A PIN or passphrase that a server keeps, on its way into the signer: what it is told, and what it
 * keeps.
 */

import { afterEach, describe, expect, test } from "bun:test";

import { LaunchFault } from "#adapters/keys/requests.ts";
import type { KeptElsewhere, SignerConfiguration } from "#adapters/keys/settings.ts";
import { ChangedSecret } from "#adapters/keys/signer/changed-secret.ts";
import { pinReader, withFetchedSecret } from "#adapters/keys/signer/secret.ts";

const variable = "PKID_TEST_TOKEN_OF_A_STORE";
const remote: KeptElsewhere = {
  type: "remote",
  key: "pkcs11.pin",
  variables: [variable],
  caFile: "/etc/ca.pem",
  source: { type: "aws", aws: { secret_id: "pin" } },
};
const hsmToken: SignerConfiguration = {
  provider: "pkcs11",
  pkcs11: { module_path: "/m.so", pin: remote, session_pool_size: 1, operation_timeout_seconds: 1 },
};
const store = (passphrase: KeptElsewhere | undefined): SignerConfiguration => ({
  provider: "software",
  keks: [],
  software: { keystore_dir: "/k", master_key_file: "/m", passphrase },
});

const raise = (): string => {
  throw new Error("absent");
};

afterEach(() => {
  delete process.env[variable];
});

describe("a signer", () => {
  test("fetches PIN and passphrase, trusting what the instance trusts, and forgets with what", async () => {
    for (const configuration of [hsmToken, store(remote)]) {
      process.env[variable] = "token";
      const asked: unknown[] = [];
      const complete = await withFetchedSecret(configuration, async (...of) => {
        asked.push(of, process.env[variable]);
        return "geheim";
      });
      expect(asked).toEqual([[remote.source, "/etc/ca.pem"], "token"]);
      expect(JSON.stringify(complete)).toContain('{"type":"value","value":"geheim"}');
      expect(process.env[variable]).toBeUndefined();
    }
  });

  test("asks nobody when the secret is on this machine, or there is none", async () => {
    const nobody = () => Promise.reject(new Error("asked"));
    const local = { type: "env", name: variable } as const;
    const open: SignerConfiguration = {
      ...hsmToken,
      pkcs11: { ...hsmToken.pkcs11, pin: local },
    };
    for (const configuration of [open, store(undefined)]) {
      expect(await withFetchedSecret(configuration, nobody)).toBe(configuration);
    }
  });

  test("fetches a refused PIN again with what it was given, and lets nothing lie about meanwhile", async () => {
    process.env[variable] = "token";
    const seen: unknown[] = [];
    let kept = "wrong";
    const fetchSecret = async () => {
      seen.push(process.env[variable]);
      return kept;
    };
    const read = pinReader(hsmToken, fetchSecret);
    await withFetchedSecret(hsmToken, fetchSecret);
    expect(process.env[variable]).toBeUndefined();
    kept = "right";
    expect(await read()).toBe("right");
    expect(process.env[variable]).toBeUndefined();
    expect(seen).toEqual(["token", "token"]);
  });

  test("waits for another secret than the one tried, over a source that fails and one that gives the same", async () => {
    const gives = [() => "tried", () => raise(), () => "", () => "other"];
    const changed = new ChangedSecret({
      read: async () => (gives.length > 1 ? gives.shift() : gives[0])?.() || raise(),
      pauses: [0],
    });
    expect(await changed.after("tried")).toBe("other");
  });

  test("waits between two looks, unless it is nudged", async () => {
    const changed = new ChangedSecret({ read: async () => "other", pauses: [3600] });
    const found = changed.after("tried");
    changed.nudge();
    expect(await found).toBe("other");
  });

  test("says to the public that the secret cannot be had, and to the log why", async () => {
    process.env[variable] = "token";
    const failing = withFetchedSecret(hsmToken, () => Promise.reject(new Error("Vault is away.")));
    const fault = await failing.catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(LaunchFault);
    expect(fault).toMatchObject({
      kind: "source",
      message: "The PIN cannot be had from its source.",
      reason: "pkcs11.pin: Vault is away.",
    });
    expect(process.env[variable]).toBeUndefined();
  });
});
