/**
 * The bare server that starts are held against: opens a database in the folder it is given, serves
 * TLS with the certificate and key it is given, and says ready.
 */

import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [home = ".", cert = "", key = ""] = process.argv.slice(2);
const database = new Database(join(home, "bare.db"));
database.run("pragma journal_mode = wal");
database.run("pragma synchronous = full");
database.run("create table if not exists rows (id integer primary key, octets blob)");
database.run("insert into rows (octets) values (x'00')");
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  tls: { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") },
  fetch: () => Response.json(database.query("select count(*) as count from rows").get()),
});
console.log(`ready ${server.port}`);
