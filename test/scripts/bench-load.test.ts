/** The bench reads what wrk prints. */

import { expect, test } from "bun:test";

import { kinds, mixedScript, parsedDrawn, shares } from "#scripts/bench/kinds.ts";
import { parsedLoad } from "#scripts/bench/load.ts";

const printed = `Running 5s test @ https://127.0.0.1:1/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    36.45ms   28.93ms 274.53ms   92.15%
    Req/Sec     1.82k   268.67     2.27k    72.00%
  Latency Distribution
     50%  584.00us
     75%   38.75ms
     90%   55.01ms
     99%    1.02s
  9100 requests in 5.01s, 20.55MB read
Requests/sec:   1817.42
Transfer/sec:      4.10MB
`;

test("rate, count and latencies are numbers, in milliseconds", () => {
  expect(parsedLoad(printed)).toEqual({
    perSecond: 1817.42,
    requests: 9100,
    p50: 0.584,
    p99: 1020,
    failed: 0,
    ended: 0,
  });
});

test("refusals and every kind of socket error are failures", () => {
  const failing = `${printed}  Socket errors: connect 1, read 20, write 300, timeout 4000
  Non-2xx or 3xx responses: 50000\n`;
  expect(parsedLoad(failing)).toMatchObject({ failed: 54_321, ended: 20 });
});

test("a load that nothing answered has no latency", () => {
  const silent = printed.replace("9100 requests", "0 requests");
  expect(parsedLoad(silent)).toMatchObject({ requests: 0, p50: Number.NaN, p99: Number.NaN });
});

test("what wrk does not print is refused, whole", () => {
  expect(() => parsedLoad("unable to connect")).toThrow("unable to connect");
});

test("the shares of the kinds are a hundred", () => {
  expect(Object.values(shares).reduce<number>((sum, share) => sum + share, 0)).toBe(100);
});

test("the counts that the script prints are read by kind", () => {
  const lines = kinds.map((kind, at) => `drawn sent_${kind} ${at + 1}`);
  const end = ["drawn issued 7", "drawn revoked 8", "drawn refused 1", "drawn closed 9"];
  expect(parsedDrawn([...lines, ...end, "refusal 409 gone"].join("\n"))).toEqual({
    sent: { ocsp_cached: 1, ocsp_fresh: 2, issue: 3, list: 4, crl: 5, revoke: 6 },
    issued: 7,
    revoked: 8,
    refused: 1,
    closed: 9,
    refusal: "409 gone",
  });
});

test("any octets of a request stand in the script as decimal escapes", () => {
  const request = {
    method: "POST",
    path: "/",
    headers: { a: '"' },
    body: Uint8Array.of(0, 92, 255),
  } as const;
  const requests = {
    ocsp_cached: request,
    ocsp_fresh: request,
    issue: request,
    list: request,
    crl: request,
    revoke: request,
  };
  expect(mixedScript(requests)).toContain('"\\000\\092\\255", { ["\\097"] = "\\034" }, 70 },');
});
