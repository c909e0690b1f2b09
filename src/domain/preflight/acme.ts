/** Whether ACME can be reached where it says it is, and whether its CAs are there. */

import type { ProfileSet } from "#core/policy/profiles.ts";
import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import { judgeAcmeDirectory } from "#core/preflight/network.ts";
import type { Directories, Directory } from "#domain/acme/directories.ts";
import type { Outside } from "./outside.ts";

export interface AcmeReachDeps {
  readonly directories: Pick<Directories, "all">;
  readonly outside: Pick<Outside, "ask">;
  /** For one exchange. */
  readonly timeoutSeconds: number;
}

/** Each directory, fetched by the address that clients are given. */
export async function directoriesAnswer(deps: AcmeReachDeps): Promise<Finding> {
  const all = deps.directories.all();
  if (all.length === 0) return skipped("ACME is off.");
  const found = await Promise.all(all.map((one) => answerOf(deps, one)));
  const places = all.map((one) => one.url("/directory")).join(", ");
  return gathered(
    found.filter((finding) => finding !== undefined),
    `${places}: what answers there is this instance.`,
  );
}

/** What is wrong with one; undefined for a directory that names its own addresses. */
async function answerOf(
  { outside, timeoutSeconds }: AcmeReachDeps,
  directory: Directory,
): Promise<Finding | undefined> {
  const place = directory.url("/directory");
  const fetched = await outside.ask(place, undefined, timeoutSeconds);
  if (!fetched.answered) return failed(`${place}: ${fetched.why}.`);
  if (fetched.status !== 200) return failed(`${place} answers ${fetched.status}.`);
  const wrong = judgeAcmeDirectory(fetched.octets, directory.url("/"));
  return wrong === undefined ? undefined : failed(`${place}: ${wrong}.`);
}

export interface AcmeReadyDeps {
  readonly directories: Pick<Directories, "all" | "known" | "ca">;
  readonly profiles: ProfileSet;
}

/** Each directory has its CA, which issues, and no profile that people need approval for. */
export async function directoriesReady({ directories, profiles }: AcmeReadyDeps): Promise<Finding> {
  const all = directories.all();
  if (all.length === 0) return skipped("No enrolment protocol is on.");
  const found = await Promise.all(
    all.map(async (one) => [
      ...(await caFindings(directories, one)),
      ...profileFindings(profiles, one),
    ]),
  );
  return gathered(found.flat(), `ACME: ${all.map(({ name }) => name).join(", ")}.`);
}

async function caFindings(
  directories: AcmeReadyDeps["directories"],
  directory: Directory,
): Promise<readonly Finding[]> {
  const { name, ca: reference, tenant } = directory;
  const told = `ACME directory ${name}: the CA ${reference.value}`;
  const known = await directories.known(directory);
  if (known === undefined) {
    const whose = tenant === undefined ? "" : `, or is not of the tenant ${tenant}`;
    return [failed(`${told} does not exist${whose}.`)];
  }
  if (known.status === "pending") return [failed(`${told} has no certificate yet.`)];
  const { status } = await directories.ca(directory);
  return status === "active" ? [] : [failed(`${told} is ${status}, and has no successor.`)];
}

/** APR-1: what protocols ask for is never parked. */
function profileFindings(profiles: ProfileSet, directory: Directory): readonly Finding[] {
  const offered = Object.values(directory.profiles).map(({ profile }) => profile);
  return [...new Set([directory.profile, ...offered])]
    .filter((name) => profiles.has(name) && profiles.named(name).requireApproval)
    .map((name) =>
      warned(
        `ACME directory ${directory.name} issues under the profile ${name} without the approval that people wait for.`,
      ),
    );
}
