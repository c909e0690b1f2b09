/** Rules on commit subjects: imperative, exact verb, at most 60 characters, no full stop. */

import type { Commit } from "./git.ts";

/** Returns one message for each violation in the subjects. */
export const checkCommits = (commits: readonly Commit[]): string[] =>
  commits.flatMap(({ id, subject }) =>
    checkSubject(subject).map((reason) => `commit ${id} "${subject}" -> ${reason}`),
  );

/** Returns the violations of one subject. */
export function checkSubject(subject: string): string[] {
  const reasons: string[] = [];
  const [verb = "", second = ""] = subject.split(" ");
  if (!isExactVerb(verb, second)) {
    reasons.push(`start with an exact verb (Add, Fix, Remove, Rename …) instead of "${verb}"`);
  }
  const { length } = [...subject];
  if (length > lengthMax) reasons.push(`at most ${lengthMax} characters, not ${length}`);
  if (/[.!]$/.test(subject)) reasons.push("no full stop");
  return reasons;
}

const isExactVerb = (verb: string, second: string): boolean =>
  verb === "Speed" ? second === "up" : exactVerbs.has(verb);

const lengthMax = 60;

/** Verbs that name the change exactly; the language guide forbids vague ones. */
const exactVerbs: ReadonlySet<string> = new Set(
  `
  Abort Accept Add Adjust Align Allow Append Apply Archive Assert Assign Audit Authenticate Authorize
  Avoid Backdate Batch Benchmark Block Bound Build Bump Cache Cancel Cap Change Check Clarify Clean
  Clear Close Coalesce Collapse Collect Combine Compare Compress Compute Configure Confirm Convert
  Copy Correct Count Cover Create Decode Decrypt Default Defer Define Delay Delete Deprecate Derive
  Describe Detect Disable Disallow Display Distinguish Document Drop Embed Enable Encode Encrypt
  Enforce Ensure Escape Exclude Exercise Expand Expire Explain Export Expose Extend Extract Fetch
  Filter Fix Forbid Format Generate Group Guard Handle Harden Hide Highlight Ignore Implement Import
  Improve Include Increase Index Initialize Inline Insert Install Invalidate Isolate Issue Limit Link
  Lint List Load Lock Log Lower Map Mark Match Measure Merge Migrate Mock Monitor Move Name Normalize
  Omit Open Optimize Order Package Page Parse Pause Pin Poll Prefer Prefetch Preload Prepare Preserve
  Prevent Print Profile Protect Provide Prune Publish Query Queue Quote Raise Randomize Read Rebuild
  Record Recover Redact Redirect Reduce Refactor Refresh Refuse Regenerate Register Reject Release
  Relax Reload Remove Rename Render Renew Reorder Reorganize Repair Replace Replicate Report Request
  Require Reserve Reset Resolve Respond Restart Restore Restrict Retry Return Reuse Revert Revoke
  Rewrite Roll Rotate Round Route Run Sample Sanitize Save Scan Schedule Scope Search Select Send
  Separate Serialize Serve Set Shard Share Shorten Show Sign Simplify Skip Sort Specify Split Start
  State Stop Store Stream Strip Submit Support Suppress Switch Test Throttle Throw Time Track
  Translate Trigger Trim Truncate Try Type Unblock Unify Unlock Unpack Update Upgrade Upload Use
  Validate Verify Wait Warn Wrap Write
  `
    .trim()
    .split(/\s+/),
);
