/** A search in every CA: what it shows is asked for again, and the last answer is the newest. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { anyCredential, ConsoleAnswers } from "#test/support/console-answers.ts";
import { until } from "#test/support/until.ts";
import { CaSearch, type Found, nothingFound } from "#web/pages/certificates/search-cas.ts";

let held = false;
let answers: ConsoleAnswers;
let search: CaSearch;
let found: Found;

const labels = ["a", "b", "c"];
const listed = (status: string) => ({
  items: [{ serial: "1", status }],
  total: 1,
  has_more: false,
});

beforeEach(async () => {
  held = false;
  found = nothingFound;
  answers = new ConsoleAnswers((asked) => {
    if (!asked.startsWith("ca?")) return held ? undefined : listed("good");
    const items = labels.map((id) => ({ id, label: id, subject: "", public_key_fingerprint: id }));
    return { items, total: items.length, has_more: false };
  });
  const asking = { members: {}, query: {}, tenant: undefined, credential: anyCredential };
  search = new CaSearch(asking, (known) => {
    found = known;
  });
  search.until(10);
  await until(() => found.state === "over" && found.groups.length === labels.length);
  held = true;
});

afterEach(() => {
  search.close();
  answers.over();
});

const askedOf = () => answers.waiting.map(({ asked }) => asked.split("/")[1]);
const shown = () => found.groups.map(({ answer: { items } }) => items[0]?.status);
const answer = (status: string) => answers.waiting.shift()?.answer(listed(status));

describe("the CAs of a search that may have changed", () => {
  test("are asked again once the answer before has come, and the newest one stays", async () => {
    search.again(new Set(["a"]));
    search.again(new Set(["a", "b"]));
    expect(askedOf()).toEqual(["a", "b"]);
    answer("good");
    await until(() => answers.waiting.length === 2);
    expect(askedOf()).toEqual(["b", "a"]);
    answer("revoked");
    answer("revoked");
    await until(() => shown().filter((one) => one === "revoked").length === 2);
    expect(shown()).toEqual(["revoked", "revoked", "good"]);
    expect(askedOf()).toEqual([]);
  });

  test("are no more than those drawn where nobody tells of changes, one round at a time", async () => {
    search.poll(2);
    expect(askedOf()).toEqual(["a", "b"]);
    search.poll(2);
    answer("good");
    search.poll(2);
    expect(askedOf()).toEqual(["b"]);
    answer("held");
    await until(() => shown()[1] === "held");
    search.poll(2);
    expect(askedOf()).toEqual(["a", "b"]);
  });

  test("are all that are shown where some of it was missed", () => {
    search.again();
    expect(askedOf()).toEqual(["a", "b", "c"]);
  });
});
