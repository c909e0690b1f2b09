/** An instance on a PostgreSQL server of its own, whose inventory the server fills by itself. */

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";
import type { Made } from "./fill.ts";

/**
 * Starts one, has the rows made for its issuing CA, and starts it again; `stop` ends the server
 * too.
 */
export async function filledPostgres(binary: string, rows: number, revokedEvery: number) {
  const server = await startPostgres();
  const dsn = await server.createDatabase();
  const config = {
    log: { level: "info", format: "json" },
    database: { driver: "postgres", dsn },
    server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
  };
  const home = newHome();
  writeConfig(home, config);
  const migrated = await runCli(home, ["migrate"], "", {}, binary);
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  const first = await Instance.start({ binary, home, config });
  const { intermediateId: ca } = await createChain(first, "ecdsa-p256");
  await first.stop();
  const begun = performance.now();
  for (let from = 0; from < rows; from += pieceRows) {
    const to = Math.min(rows, from + pieceRows) - 1;
    await server.query(dsn, certificatesOf(ca, from, to, rows, revokedEvery));
  }
  await server.query(dsn, revocationsOf(ca));
  const perSecond = rows / ((performance.now() - begun) / 1000);
  await server.query(dsn, "vacuum analyze certificates, revocations");
  const [last] = await server.query(
    dsn,
    `select serial, common_name as name, spki_sha256 as key from certificates
      where ca_id = '${ca}' and kind = 'leaf' order by ordinal desc limit 1`,
  );
  const instance = await Instance.start({ binary, home, config });
  const stop = async () => {
    await instance.dispose();
    await server.stop();
  };
  const { serial, name, key } = last as Omit<Made, "hex">; // The columns as selected.
  const newest: Made = { serial, name, key, hex: BigInt(serial).toString(16) };
  return { instance, ca, last: newest, perSecond, stop };
}

/**
 * Rows like those of `fill.ts`, with other hashes: PostgreSQL has MD5 built in, and no hex of large
 * numbers.
 */
function certificatesOf(
  ca: string,
  from: number,
  to: number,
  rows: number,
  revokedEvery: number,
): string {
  const start = Date.now() - rows * 1000;
  return `insert into certificates (id, ca_id, tenant, serial, serial_hex, kind, subject, common_name, sans, search,
      profile, certificate, not_before, not_after, status, requested_by, created_at, spki_sha256, marker)
    select gen_random_uuid()::text, '${ca}', 'default', serial::text, md5(serial::text), 'leaf',
       subject, name, sans, lower(subject || E'\\n' || name || E'\\ndns:' || name || E'\\ndns:www.' || name),
      case when at % 3 = 0 then 'client' else 'server' end, decode(repeat('30', 700), 'hex'), begun,
      begun + 34300800000, case when at % ${revokedEvery} = 0 then 'revoked' else 'good' end, 'bench', begun,
      md5('key' || at) || md5('half' || at), ''
    from (select at, name, 'CN=' || name || ',O=Example GmbH,C=DE' as subject, ${start} + at * 1000::bigint as begun,
        '["dns:' || name || '","dns:www.' || name || '"]' as sans,
        (('x5' || substr(md5('serial' || at), 1, 14))::bit(60)::bigint::numeric * 100000000000000000000 + at) as serial
      from (select at, 'h' || substr(md5('name' || at), 1, 10) || '-' || at || '.example.test' as name
        from generate_series(${from}, ${to}) at) named) made`;
}

const revocationsOf = (ca: string): string =>
  `insert into revocations (ca_id, serial, revoked_at, reason, known, expires_at, sequence)
    select ca_id, serial, created_at, 'superseded', true, not_after, row_number() over (order by ordinal)
    from certificates where ca_id = '${ca}' and status = 'revoked'`;

const pieceRows = 50_000;
