/**
 * The directory adapter against OpenLDAP: lookups, groups, escaping, TLS, failover, and everything
 * that must fail closed.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";

import { consent } from "#adapters/directory/connection.ts";
import { ldapDirectory, lookAtDirectory } from "#adapters/directory/directory.ts";
import type { DirectorySettings } from "#adapters/directory/settings.ts";
import { DirectoryFault } from "#domain/access/directory.ts";
import {
  type DirectoryServer,
  passwordOf,
  serviceDn,
  servicePassword,
  slapdPath,
  startSlapd,
  suffix,
} from "#test/support/servers/slapd.ts";

let slapd: DirectoryServer;
const peopleDn = `ou=people,${suffix}`;
const ops = `cn=ops,ou=groups,${suffix}`;

beforeAll(async () => {
  if (slapdPath !== undefined) slapd = await startSlapd();
}, 30_000);
afterAll(() => slapd?.stop());

function settings(changed: Partial<DirectorySettings> = {}): DirectorySettings {
  return {
    servers: [{ host: "localhost", port: slapd.ldapsPort, encryption: "tls" }],
    tls: {
      ca: readFileSync(slapd.caFile, "utf8"),
      serverName: undefined,
      minVersion: "TLSv1.2",
      verify: true,
    },
    timeoutSeconds: 5,
    lookup: searching(),
    names: {
      username: "uid",
      email: "mail",
      displayNames: ["displayName", "cn"],
      mapped: ["departmentNumber"],
      groupsClaim: "groups",
    },
    groupAttribute: "memberOf",
    groupSearch: undefined,
    ...changed,
  };
}

const searching = (secret = servicePassword, filter = "(uid=%s)") =>
  ({
    by: "search",
    service: { dn: serviceDn, password: async () => secret },
    people: { baseDn: peopleDn, filter },
  }) as const;

const identify = (name: string, password: string, changed?: Partial<DirectorySettings>) =>
  ldapDirectory(settings(changed)).identify(name, password);

const alice = (changed?: Partial<DirectorySettings>) =>
  identify("alice", passwordOf("alice"), changed);

const faultOf = async (work: Promise<unknown>): Promise<string> => {
  const outcome = await work.then(
    () => "accepted",
    (error: unknown) => error,
  );
  return outcome instanceof DirectoryFault ? outcome.message : String(outcome);
};

const plain = (port: number, encryption: "start_tls" | "none" = "start_tls") => ({
  servers: [{ host: "localhost", port, encryption } as const],
});

/** A server of the test's own; `speak` gets every connection. */
async function listener(
  speak: (socket: Socket) => void,
): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    speak(socket);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  return { server, port: typeof address === "object" ? (address?.port ?? 0) : 0 };
}

describe.skipIf(slapdPath === undefined)("search then bind", () => {
  test("gives who the entry says it is, with groups and mapped attributes", async () => {
    expect(await alice()).toEqual({
      voucher: "ldap",
      issuer: "",
      subject: "alice",
      loginName: "alice",
      name: "Alice Example",
      email: "alice@x.test",
      emailVerified: true,
      groups: [ops],
      claims: { departmentNumber: ["42"], groups: [ops] },
    });
  });

  test("names a person as the directory does, however the name was typed", async () => {
    expect((await identify("ALICE", passwordOf("alice")))?.subject).toBe("alice");
  });

  test("says the same of an unknown name, a wrong password, and a name of several", async () => {
    expect(await identify("nobody", "x")).toBeUndefined();
    expect(await identify("alice", "x")).toBeUndefined();
    expect(await identify("twin", passwordOf("carol"))).toBeUndefined();
  });

  test("asks the directory as much about an unknown name as about a known one", async () => {
    const sent: number[] = [];
    const { port, server } = await listener((socket) => {
      const through = connect(slapd.ldapPort, "127.0.0.1");
      through.on("error", () => {}).on("data", (chunk: Buffer) => socket.write(chunk));
      // One message a chunk: the client waits for each answer. The fifth octet says what it asks
      // (RFC 4511 §4.1.1).
      socket.on("data", (chunk: Buffer) => {
        sent.push(chunk[5] ?? 0);
        through.write(chunk);
      });
    });
    const asked = async (name: string) => {
      sent.length = 0;
      expect(await identify(name, "wrong", plain(port, "none"))).toBeUndefined();
      return [...sent];
    };
    const known = await asked("alice");
    expect(known.slice(0, 3)).toEqual([bindRequest, searchRequest, bindRequest]);
    expect(await asked("nobody")).toEqual(known);
    expect(await asked("twin")).toEqual(known);
    server.close();
  });

  test("never takes an empty password for a proof, though the directory would", async () => {
    expect(await identify("alice", "")).toBeUndefined();
  });

  test("lets nobody be root", async () => {
    expect(await identify("root", passwordOf("root"))).toBeUndefined();
  });

  test("takes a name for a name: no filter, no pattern", async () => {
    for (const name of ["*", "alice*", "alice)(uid=*", "*)(|(uid=*", "alice)(&)", "al\\69ce"]) {
      expect(await identify(name, passwordOf("alice"))).toBeUndefined();
    }
  });

  test("blames the service account, and nobody else, for its own password", async () => {
    const wrong = alice({ lookup: searching("wrong") });
    expect(await faultOf(wrong)).toContain("the server refuses bind_dn or its password");
  });

  test("finds groups by DN of the person, and calls them by DN and first value", async () => {
    const groupSearch = { baseDn: `ou=groups,${suffix}`, filter: "(member=%s)" };
    expect((await alice({ groupSearch }))?.groups).toEqual([ops, "ops"]);
    expect((await identify("bob", passwordOf("bob"), { groupSearch }))?.groups).toEqual([]);
  });
});

describe.skipIf(slapdPath === undefined)("a bind under a name made of the login name", () => {
  const lookup = { by: "bind", template: `uid=%s,${peopleDn}`, people: undefined } as const;

  test("gives who the entry says it is", async () => {
    expect(await alice({ lookup })).toMatchObject({ subject: "alice", email: "alice@x.test" });
    expect(await identify("alice", "x", { lookup })).toBeUndefined();
    expect(await identify("nobody", "x", { lookup })).toBeUndefined();
  });

  test("takes a name for a name: no other part of the DN", async () => {
    for (const name of [`alice,${peopleDn}`, "alice+sn=alice", "alice,ou=x", "\\61lice", "#61"]) {
      expect(await identify(name, passwordOf("alice"), { lookup })).toBeUndefined();
    }
  });

  test("sends no bare word, which could be a mechanism and not a name", async () => {
    const bare = { by: "bind", template: "%s", people: undefined } as const;
    for (const name of ["EXTERNAL", "PLAIN", "uid=alice"]) {
      expect(await identify(name, "x", { lookup: bare })).toBeUndefined();
    }
  });
});

describe.skipIf(slapdPath === undefined)("the connection", () => {
  test("is encrypted by StartTLS before anything is said", async () => {
    expect((await alice(plain(slapd.ldapPort)))?.subject).toBe("alice");
    expect((await alice(plain(slapd.ldapPort, "none")))?.subject).toBe("alice");
  });

  test("is refused to a server of another CA, of another name, or of an address not certified", async () => {
    const { tls, servers } = settings();
    for (const encryption of ["tls", "start_tls"] as const) {
      const port = encryption === "tls" ? slapd.ldapsPort : slapd.ldapPort;
      const to = (host: string, more: object) =>
        faultOf(alice({ servers: [{ host, port, encryption }], tls: { ...tls, ...more } }));
      expect(await to("localhost", { ca: undefined })).toContain("cannot be reached");
      expect(await to("localhost", { serverName: "ldap.test" })).toContain("ALTNAME_INVALID");
      expect(await to("127.0.0.1", {})).toContain("ALTNAME_INVALID");
      expect(await to("127.0.0.1", { serverName: "localhost" })).toBe("accepted");
      expect(await to("127.0.0.1", { ca: undefined, verify: false })).toBe("accepted");
      expect(await to("localhost", { minVersion: "TLSv1.3" })).toBe("accepted");
    }
    expect(servers).toHaveLength(1);
  });

  test("carries no password when somebody in between answers StartTLS with a refusal", async () => {
    const heard: Buffer[] = [];
    const { port, server } = await listener((socket) => {
      socket.on("data", (chunk: Buffer) => {
        heard.push(chunk);
        socket.write(Buffer.from("300c02010178070a01020400 0400".replace(" ", ""), "hex"));
      });
    });
    expect(await faultOf(alice(plain(port)))).toContain("the server refuses StartTLS");
    expect(Buffer.concat(heard).toString("latin1")).not.toContain("password");
    expect(Buffer.concat(heard).length).toBe(31);
    server.close();
  });

  test("takes nothing that was added to the consent in clear", async () => {
    const yes = Buffer.from("300c02010178070a010004000400", "hex");
    expect(consent(yes)).toBe("yes");
    expect(consent(yes.subarray(0, 9))).toBe("more");
    const bound = Buffer.from("300c02010261070a010004000400", "hex");
    expect(consent(Buffer.concat([yes, bound]))).toBe("no");
    expect(consent(Buffer.concat([yes, bound.subarray(0, 1)]))).toBe("no");
    expect(consent(Buffer.from("300c02010278070a010004000400", "hex"))).toBe("no");
    const long = Buffer.from(
      "308400000010020101788400000007 0a010004000400".replace(" ", ""),
      "hex",
    );
    expect(consent(long)).toBe("yes");
  });

  test("that breaks in the middle of the handshake is a fault and nothing worse", async () => {
    const { port, server } = await listener((socket) => {
      let heard = 0;
      socket.on("data", () => {
        heard += 1;
        if (heard === 1) socket.write(Buffer.from("300c02010178070a010004000400", "hex"));
        else socket.resetAndDestroy();
      });
    });
    expect(await faultOf(alice(plain(port)))).toContain("cannot be reached");
    server.close();
  });

  test("is never opened anew in the middle of a login", async () => {
    let connections = 0;
    const { port, server } = await listener((socket) => {
      connections += 1;
      const through = connect(slapd.ldapPort, "127.0.0.1");
      through.on("error", () => {});
      let answers = 0;
      socket.on("data", (chunk: Buffer) => through.write(chunk));
      // After the answer to the service's bind the line goes dead.
      through.on("data", (chunk: Buffer) => {
        answers += 1;
        socket.write(chunk);
        if (answers === 1) socket.end();
      });
    });
    expect(await faultOf(alice(plain(port, "none")))).toContain("ended the connection");
    expect(connections).toBe(1);
    server.close();
  });

  test("to a server that is away or silent gives way to the next one", async () => {
    const { port, server } = await listener(() => {});
    const servers = [
      { host: "127.0.0.1", port: 1, encryption: "tls" },
      { host: "127.0.0.1", port, encryption: "start_tls" },
      { host: "localhost", port: slapd.ldapsPort, encryption: "tls" },
    ] as const;
    expect((await alice({ servers, timeoutSeconds: 1 }))?.subject).toBe("alice");
    const away = alice({ servers: servers.slice(0, 2), timeoutSeconds: 1 });
    expect(await faultOf(away)).toMatch(/cannot be reached.*did not answer in time/);
    server.close();
  });

  test("is looked at with the eyes of the service: an account that reads nobody is found out", async () => {
    const looked = async (changed: Partial<DirectorySettings>) =>
      (await lookAtDirectory(settings(changed), () => 0))[0];
    const own = {
      ...searching(passwordOf("alice")),
      service: { dn: `UID=alice, ${peopleDn}`, password: async () => passwordOf("alice") },
    };
    const nobody = "bind_dn finds nobody by user_filter below user_base_dn, or may not read them";
    expect(await looked({ lookup: own })).toMatchObject({
      fault: "bind_dn cannot search user_base_dn (the server answered with result 32)",
    });
    const people = { baseDn: `uid=alice,${peopleDn}`, filter: "(uid=%s)" };
    expect(await looked({ lookup: { ...own, people } })).toMatchObject({ fault: nobody });
    const wrong = searching(servicePassword, "(sAMAccountName=%s)");
    expect(await looked({ lookup: wrong })).toMatchObject({ fault: nobody });
    const { names } = settings();
    expect(await looked({ names: { ...names, username: "sAMAccountName" } })).toMatchObject({
      fault: expect.stringContaining("set auth.ldap.username_attribute"),
    });
  });

  test("says why its answer was no, and a wrong attribute is a fault of ours", async () => {
    const whys: string[] = [];
    const said = (name: string, password: string, changed?: Partial<DirectorySettings>) =>
      ldapDirectory(settings(changed), (why) => whys.push(why)).identify(name, password);
    expect(await said("alice", "wrong")).toBeUndefined();
    expect(await said("nobody", "wrong")).toBeUndefined();
    const all = searching(servicePassword, "(|(uid=%s)(objectClass=person))");
    expect(await said("alice", passwordOf("alice"), { lookup: all })).toBeUndefined();
    expect(await said("root", passwordOf("root"))).toBeUndefined();
    expect(whys).toEqual([
      "password_refused",
      "no_entry_found",
      "several_entries_found",
      "entry_names_nobody_here",
    ]);
    const { names } = settings();
    const guessed = { names: { ...names, username: "sAMAccountName" } };
    expect(await faultOf(said("alice", passwordOf("alice"), guessed))).toContain(
      "people have no attribute sAMAccountName",
    );
  });

  test("is looked at without a person: connect, TLS, service bind", async () => {
    const [good] = await lookAtDirectory(settings(), () => Date.now());
    expect(good).toMatchObject({ certificateDays: expect.any(Number) });
    const wrong = settings({ lookup: searching("wrong") });
    expect(await lookAtDirectory(wrong, () => 0)).toEqual([
      { server: expect.any(String), fault: "the server refuses bind_dn or its password" },
    ]);
  });
});

const bindRequest = 0x60;
const searchRequest = 0x63;
