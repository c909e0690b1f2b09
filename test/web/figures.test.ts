/** The figures of the tree of authorities: the newest answer is the one that is shown. */

import { afterEach, beforeEach, expect, test } from "bun:test";

import { anyCredential, ConsoleAnswers } from "#test/support/console-answers.ts";
import { until } from "#test/support/until.ts";
import { FigureLoader } from "#web/pages/authorities/figures.ts";

const held = new Set<string>();
let answers: ConsoleAnswers;

beforeEach(() => {
  held.clear();
  answers = new ConsoleAnswers((asked) => {
    const [, id = ""] = asked.split("/");
    return held.has(id) ? undefined : { items: [], total: 1, has_more: false };
  });
});

afterEach(() => answers.over());

const questionsOfOne = 3;
const answer = (total: number) => {
  for (const one of answers.waiting.splice(0, questionsOfOne)) {
    one.answer({ items: [], total, has_more: false });
  }
};

test("a CA that has changed while it is asked is asked once more, after its answer", async () => {
  const told: [string, number | undefined][] = [];
  const loader = new FigureLoader(anyCredential, false, (id, { issued }) => {
    told.push([id, issued]);
  });
  held.add("slow");
  loader.want("slow");
  loader.want("quick");
  await until(() => told.length === 1);
  loader.changed("slow");
  loader.changed("quick");
  // The answer about the other one shows that both were to be asked again.
  await until(() => told.length === 2);
  expect(answers.waiting.length).toBe(questionsOfOne);
  answer(1);
  await until(() => answers.waiting.length === questionsOfOne);
  answer(2);
  await until(() => told.length === 4);
  expect(told).toEqual([
    ["quick", 1],
    ["quick", 1],
    ["slow", 1],
    ["slow", 2],
  ]);
  loader.close();
}, 20_000);
