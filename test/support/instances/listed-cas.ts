/** CAs made over the interface, what they issue, and what the console exports of it. */

import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Page } from "playwright-core";

import { csr } from "#test/support/worlds/issuance.ts";
import type { Instance } from "./instance.ts";
import { savedBy } from "./issue-page.ts";

export interface MadeCa {
  readonly id: string;
  readonly label: string;
}

/** A root, or one below another, by the path that makes it. */
export const makeCaAt = (instance: Instance, path: string, label: string): Promise<MadeCa> =>
  instance.admin("POST", path, {
    label,
    subject: { cn: `Example ${label}` },
    key_type: "ecdsa-p256",
  });

/** A certificate of a CA for one host name. */
export const issueFor = (instance: Instance, { id }: MadeCa, name: string) =>
  instance.admin<{ readonly serial: string }>("POST", `/api/ca/${id}/issue`, {
    csr: csr({ dns: [name], subject: [{ type: "CN", value: name }] }),
  });

/** What the export dialog saves: the name of the file, and the lines below its head. */
export async function exportedBy(page: Page) {
  const file = await savedBy({ page }, tmpdir(), () =>
    page.getByRole("dialog").getByRole("button", { name: "Save as CSV" }).click(),
  );
  const [, ...lines] = readFileSync(file, "utf8").trimEnd().split("\r\n");
  return { name: file.split("/").at(-1), lines };
}
