/** The field of a secret: its value in place, or `<key>_source` (SEC-2). */

import { WrongValue } from "#core/shape.ts";

import { type Filled, field } from "./fields.ts";
import type { Kind } from "./kinds.ts";
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

function secretKind(options: {
  show?: (value: string) => string;
  wrong?: (value: string) => string | undefined;
}): Kind<SecretSetting> {
  return {
    type: "secret",
    schema: { type: "string", minLength: 1, writeOnly: true },
    sample: hidden,
    fromText: (given) => given,
    read: (raw) => {
      if (typeof raw !== "string") throw new WrongValue("Must be text; put it in quotes.");
      if (raw.length === 0) throw new WrongValue("Must not be empty.");
      if (raw.length > 65_536) throw new WrongValue("Must have at most 65536 characters.");
      const sentence = options.wrong?.(raw);
      if (sentence !== undefined) throw new WrongValue(sentence);
      return { from: "value", value: new Secret(raw) };
    },
    write: (setting) => {
      if (setting.from === "source") return sourceKind.write(setting);
      return options.show ? options.show(setting.value.reveal()) : hidden;
    },
  };
}
