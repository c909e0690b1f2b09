/** The field of a secret: its value in place, or `<key>_source` (SEC-2). */

import { isObject, type Kind, text, WrongValue } from "#core/shape.ts";

import { type Filled, field } from "./fields.ts";
import { hidden, Secret, type SecretSetting } from "./secret.ts";
import type { Derived, Field } from "./section.ts";
import { sourceKind } from "./sources.ts";

/**
 * A secret: its value in place, or `<key>_source`. `show` prints what may be seen of a value in
 * place.
 */
export function secret<F extends string | Derived | undefined = undefined>(
  sentence: string,
  fallback?: F,
  options: { show?: (value: string) => string; wrong?: (value: string) => string | undefined } = {},
): Field<Filled<SecretSetting, F>> {
  return { ...field(sentence, secretKind(options), fallback), source: sourceKind };
}

/** A secret as an entry of a mapping: its value, or a mapping that says where it is. */
export function secretEntry(options: {
  wrong: (value: string) => string | undefined;
}): Kind<SecretSetting> {
  const inPlace = secretKind(options);
  return {
    ...inPlace,
    schema: { anyOf: [inPlace.schema, sourceKind.schema] },
    read: (raw, at) =>
      // What `sourceKind` reads is a setting, which its type does not say.
      isObject(raw) ? (sourceKind.read(raw, at) as SecretSetting) : inPlace.read(raw),
  };
}

function secretKind(options: {
  show?: (value: string) => string;
  wrong?: (value: string) => string | undefined;
}): Kind<SecretSetting> {
  return {
    name: "secret",
    schema: { type: "string", minLength: 1, writeOnly: true },
    sample: hidden,
    read: (raw) => {
      const value = secretText.read(raw);
      const sentence = options.wrong?.(value);
      if (sentence !== undefined) throw new WrongValue(sentence);
      return { from: "value", value: new Secret(value) };
    },
    write: (setting) => {
      if (setting.from === "source") return sourceKind.write(setting);
      return options.show ? options.show(setting.value.reveal()) : hidden;
    },
  };
}

// A secret may be whatever its other side takes.
const secretText = text({ min: 1, max: 65_536, characters: "any" });
