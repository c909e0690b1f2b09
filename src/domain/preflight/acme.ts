/** Whether ACME can be reached where it says it is, and whether its CAs are there. */

import type { ProfileSet } from "#core/policy/profiles.ts";
import { failed, type Finding, gathered, skipped, warned } from "#core/preflight/finding.ts";
import { judgeAcmeDirectory } from "#core/preflight/network.ts";
import { addSeconds, secondsPerDay } from "#core/time.ts";
import type { Directories, Directory } from "#domain/acme/directories.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
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
  readonly profiles: Pick<ProfileSet, "has" | "named">;
  /** What keeps the keys of a CA from signing, as a sentence without its full stop. */
  readonly keyFault: (ca: CaRecord) => Promise<string | undefined>;
  readonly store: Pick<Store, "read">;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Each directory has its CA, which issues and whose key is there, and profiles that there are and
 * that people need no approval for.
 */
export async function directoriesReady(deps: AcmeReadyDeps): Promise<Finding> {
  const { directories, profiles } = deps;
  const all = directories.all();
  if (all.length === 0) return skipped("No enrolment protocol is on.");
  const found = await Promise.all(
    all.map(async (one) => [...(await caFindings(deps, one)), ...profileFindings(profiles, one)]),
  );
  found.push(await stoppedPlanFindings(deps));
  return gathered(found.flat(), `ACME: ${all.map(({ name }) => name).join(", ")}.`);
}

async function caFindings(
  { directories, keyFault }: AcmeReadyDeps,
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
  const ca = await directories.ca(directory);
  if (ca.status !== "active") return [failed(`${told} is ${ca.status}, and has no successor.`)];
  const fault = await keyFault(ca);
  return fault === undefined ? [] : [failed(`${told} cannot sign: ${fault}.`)];
}

/** Warns of replacement plans that stopped because their planner may not revoke (ARI-5). */
async function stoppedPlanFindings({ store, clock }: AcmeReadyDeps): Promise<Finding[]> {
  const { replacements } = store.read;
  const { items } = await replacements.replacements("platform", plansMax);
  const since = addSeconds(clock.now(), -stoppedDays * secondsPerDay);
  const findings: Finding[] = [];
  for (const { id, state, end, createdBy } of items) {
    if (state !== "stopped" || end < since) continue;
    const { total, revoked } = await replacements.counts(id);
    const left = `${total - revoked} of ${total} certificates are not revoked`;
    findings.push(warned(`The replacement plan ${id} of ${createdBy} has stopped: ${left}.`));
  }
  return findings;
}

/** APR-1: what protocols ask for is never parked. */
function profileFindings(
  profiles: AcmeReadyDeps["profiles"],
  directory: Directory,
): readonly Finding[] {
  const offered = Object.values(directory.profiles).map(({ profile }) => profile);
  const told = `ACME directory ${directory.name}`;
  return [...new Set([directory.profile, ...offered])].flatMap((name) => {
    if (!profiles.has(name)) return [failed(`${told}: the profile ${name} does not exist.`)];
    if (!profiles.named(name).requireApproval) return [];
    return [
      warned(`${told} issues under the profile ${name} without the approval that people wait for.`),
    ];
  });
}

/** Newest plans that are searched for stopped ones. */
const plansMax = 100;
/** Days after its end for which a stopped plan is reported. */
const stoppedDays = 30;
