/**
 * What a token says about an instance that has been: the keys pkid has made there, told from
 * everybody else's.
 */

import { kekPlace } from "#domain/envelopes/place.ts";
import type { ListedKey } from "#domain/keys.ts";
import { type KeyPorts, type KeySections, listToken, usesToken } from "./open.ts";

/**
 * A look at the token; gives the labels of pkid's keys there, sorted, or undefined where no token
 * is configured. With `lookingOnly` no try of the token is risked. The look refuses
 * `key_unavailable` for a token that is away, and throws `LaunchFault` for wrong settings.
 */
export function keysOnToken(
  config: KeySections,
  ports: Omit<KeyPorts, "privateDir">,
  privateDir: () => string,
): (() => Promise<readonly string[]>) | undefined {
  if (!usesToken(config)) return undefined;
  const { family } = kekPlace(config);
  return async () => {
    const listed = await listToken(config, { ...ports, privateDir: privateDir() });
    const ours = listed.filter((key) => isOurs(key, family)).map(({ label }) => label);
    // A token lists in no order of its own.
    return ours.sort();
  };
}

/**
 * True for a key that bears a name and an id as pkid gives them: a version of the KEK, or a key of
 * a CA or a responder, whose label has the id of the CA. Other programs' keys share a token with
 * ours and say nothing.
 */
export function isOurs({ label, id }: Pick<ListedKey, "label" | "id">, family: string): boolean {
  if (id.length !== idDigits) return false;
  if (label.startsWith(`${family}-v`)) return /^[1-9]\d*$/.test(label.slice(family.length + 2));
  return caKey.test(label) || responderKey.test(label);
}

/** Of 20 octets. */
const idDigits = 40;
const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const caKey = new RegExp(`^.+-${uuid}(?:-alt)?$`, "s");
const responderKey = new RegExp(`^ocsp-${uuid}-`);
