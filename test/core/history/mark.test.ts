/** Comparison of a database with the newest acknowledged state, and the lines that store it. */

import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { encodeMark, parseMark } from "#core/history/mark-lines.ts";
import {
  crlScopeKey,
  emptyMark,
  encodeReport,
  findRollback,
  findRollbackOfHeads,
  formatRollback,
  type HighWaterMark,
  type HistorySnapshot,
  parseReport,
} from "#core/history/mark.ts";

const scope = crlScopeKey("ca", "full");
const mark: HighWaterMark = {
  epoch: 5,
  event: { seq: 57, hash: "e57" },
  ledger: { seq: 12, hash: "l12" },
  revocationSequence: 3,
  crlNumbers: new Map([[scope, 9]]),
};
const current: HistorySnapshot = {
  ...mark,
  reported: undefined,
  eventAtMark: "e57",
  ledgerAtMark: "l12",
  crlNumbers: new Map([[scope, 9]]),
};
const find = (changes: Partial<HistorySnapshot>) =>
  findRollback(mark, { ...current, ...changes })?.reason;

describe("a database is older than the mark", () => {
  test("a database is older if an event, a ledger entry, a revocation or a CRL number is missing", () => {
    expect(find({ event: { seq: 56, hash: "e56" } })).toBe("event 57 is missing");
    expect(find({ ledger: { seq: 11, hash: "l11" } })).toBe("ledger entry 12 is missing");
    expect(find({ revocationSequence: 2 })).toBe("revocation 3 is missing");
    expect(find({ crlNumbers: new Map([[scope, 8]]) })).toBe("CRL number 9 of ca/full is missing");
    expect(find({ crlNumbers: new Map() })).toBe("CRL number 9 of ca/full is missing");
  });

  test("a database is older if other rows have taken the numbers of the lost ones", () => {
    const event = { seq: 90, hash: "e90" };
    expect(find({ event, eventAtMark: "other" })).toBe("event 57 has other content");
    expect(find({ event, eventAtMark: undefined })).toBe("event 57 has other content");
    expect(find({ ledgerAtMark: "other" })).toBe("ledger entry 12 has other content");
  });

  test("a database is older if a restore or an accepted rollback is missing", () => {
    expect(find({ epoch: 4 })).toBe("an accepted rollback or restore is missing");
  });

  test("a continued database is older if CRL numbers went back", () => {
    const continued = { epoch: 6, event: { seq: 1, hash: "e1" }, eventAtMark: undefined };
    expect(find({ ...continued, crlNumbers: new Map() })).toContain("CRL number 9");
  });
});

describe("a report of a replica with a newer mark", () => {
  const reported = {
    epoch: 5,
    reason: "event 60 is missing",
    acknowledged: { event: 60, ledger: 13 },
  };

  test("a database is older for every replica after one report", () => {
    expect(findRollback(mark, { ...current, reported })).toEqual({
      reason: "event 60 is missing",
      found: { event: 57, ledger: 12 },
      acknowledged: { event: 60, ledger: 13 },
    });
  });

  test("a database is current if the rollback was accepted after the report", () => {
    expect(find({ reported, epoch: 6 })).toBeUndefined();
  });

  test("a report is read as it was written", () => {
    expect(parseReport(encodeReport(reported))).toEqual(reported);
    expect(parseReport(undefined)).toBeUndefined();
  });
});

test("a database that continues the mark, or was continued on purpose, is current", () => {
  expect(find({})).toBeUndefined();
  expect(find({ event: { seq: 90, hash: "e90" }, revocationSequence: 8 })).toBeUndefined();
  expect(find({ crlNumbers: undefined })).toBeUndefined();
  expect(find({ epoch: 6, event: { seq: 1, hash: "x" }, eventAtMark: "y" })).toBeUndefined();
  expect(findRollback(emptyMark, { ...current, eventAtMark: undefined })).toBeUndefined();
});

test("the heads alone show a shorter database, and one of the same length with other content", () => {
  const heads = (changes: Partial<HistorySnapshot>) =>
    findRollbackOfHeads(mark, { ...current, ...changes })?.reason;
  expect(heads({})).toBeUndefined();
  expect(heads({ event: { seq: 58, hash: "e58" } })).toBeUndefined();
  expect(heads({ event: { seq: 57, hash: "other" } })).toBe("event 57 has other content");
  expect(heads({ event: { seq: 2, hash: "e2" } })).toBe("event 57 is missing");
  expect(heads({ ledger: { seq: 12, hash: "other" } })).toBe("ledger entry 12 has other content");
  expect(heads({ revocationSequence: 0 })).toBe("revocation 3 is missing");
});

test("the message names both ends and the remedy", () => {
  const rollback = findRollback(mark, { ...current, event: { seq: 41, hash: "e41" } });
  if (rollback === undefined) throw new Error("the database is older");
  const message = formatRollback(rollback);
  for (const part of [
    "event 57 is missing",
    "event is 41",
    "were 57 and 12",
    "pkid db accept-rollback",
  ]) {
    expect(message).toContain(part);
  }
});

const marks = fc.record({
  epoch: fc.constant(7),
  event: fc.record({ seq: fc.nat(), hash: fc.string() }).map(({ seq, hash }) => ({ seq, hash })),
  ledger: fc.record({ seq: fc.nat(), hash: fc.string() }).map(({ seq, hash }) => ({ seq, hash })),
  revocationSequence: fc.nat(),
  crlNumbers: fc
    .dictionary(fc.string({ minLength: 1 }), fc.nat())
    .map((numbers) => new Map(Object.entries(numbers))),
});

describe("the lines of a mark", () => {
  test("the lines are read back as the last mark, with the CRL numbers of every line", () => {
    fc.assert(
      fc.property(fc.array(marks, { minLength: 1, maxLength: 5 }), (all) => {
        const text = all.map((one) => encodeMark(one, one.crlNumbers.keys())).join("");
        const last = all.at(-1);
        const crlNumbers = new Map(all.flatMap((one) => [...one.crlNumbers]));
        expect(parseMark(text)).toEqual({ ...(last ?? mark), crlNumbers });
      }),
    );
  });

  test("a mark loses only a line that a crash has cut off", () => {
    const first = encodeMark(mark, [scope]);
    const second = encodeMark({ ...mark, event: { seq: 58, hash: "e58" } }, []);
    expect(parseMark(first + second)?.event.seq).toBe(58);
    for (let length = 0; length < second.length; length++) {
      expect(parseMark(first + second.slice(0, length))).toEqual(mark);
    }
  });

  test("a mark omits the CRL numbers of an earlier epoch", () => {
    const next = { ...mark, epoch: 6, crlNumbers: new Map([["ca/partition-0", 2]]) };
    const text = encodeMark(mark, [scope]) + encodeMark(next, next.crlNumbers.keys());
    expect(parseMark(text)).toEqual(next);
  });

  test("a mark is damaged if any complete line was not written by pkid", () => {
    const line = encodeMark(mark, [scope]);
    const damaged = [
      "",
      "\n",
      "no line feed",
      "null\n",
      "[]\n",
      "{}\n",
      `${line}x\n`,
      line.replace("57", "-"),
      line.replace("57", '"57"'),
      line.replace('"crl":{', '"crl":{"a/b":"c",'),
      line.replace('"crl":{', '"other":{'),
    ];
    for (const text of damaged) expect(parseMark(text)).toBeUndefined();
  });
});
