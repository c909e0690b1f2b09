/**
 * One serial as a sequential object: what revoke, suspend, release and the readers may answer in
 * which state.
 */

import type { Sequential } from "./linearizable.ts";

/** What a caller asked and was told; times and reasons as the answer spelled them. */
export type SerialCall =
  | {
      readonly ask: "revoke" | "suspend";
      readonly reason: string;
      /** The status of the answer, or the code of the refusal. */
      readonly told: string;
      readonly at: string | undefined;
      readonly because: string | undefined;
    }
  | { readonly ask: "release"; readonly told: string; readonly found: string | undefined }
  | { readonly ask: "read"; readonly told: "good" | "revoked" | "held"; readonly at?: string }
  /** A bulk revocation, which tells nothing of the single serial. */
  | { readonly ask: "bulk"; readonly reason: string };

export interface SerialState {
  readonly is: "good" | "held" | "revoked";
  /** Undefined until somebody is told: a bulk revocation keeps its time to itself. */
  readonly at?: string | undefined;
  readonly reason?: string | undefined;
}

/** A certificate that is good to begin with. */
export const serialObject: Sequential<SerialState, SerialCall> = {
  initial: { is: "good" },
  key: ({ is, at, reason }) => `${is} ${at} ${reason}`,
  apply: (state, call) => {
    switch (call.ask) {
      case "revoke":
        return state.is === "revoked"
          ? first(state, call, "already-revoked")
          : changed(call, "revoked");
      case "suspend":
        if (state.is === "revoked") return first(state, call, "already_revoked");
        return state.is === "held" ? first(state, call, "already-held") : changed(call, "held");
      case "release":
        if (state.is === "held") return call.told === "released" ? { is: "good" } : undefined;
        return call.told === "not_held" && call.found === state.is ? state : undefined;
      case "read":
        if (call.told !== state.is) return undefined;
        if (call.at === undefined || state.at === undefined) return state;
        return sameSecond(call.at, state.at) ? state : undefined;
      case "bulk":
        return state.is === "revoked" ? state : { is: "revoked", reason: call.reason };
    }
  },
};

type Changing = Extract<SerialCall, { readonly at: string | undefined }> & {
  readonly ask: "revoke" | "suspend";
};

function changed(call: Changing, to: "held" | "revoked"): SerialState | undefined {
  if (call.told !== to || call.because !== call.reason) return undefined;
  return { is: to, at: call.at, reason: call.reason };
}

/** A repetition tells the first facts. */
function first(state: SerialState, call: Changing, word: string): SerialState | undefined {
  if (call.told !== word || call.because !== state.reason) return undefined;
  if (state.at !== undefined && call.at !== state.at) return undefined;
  return { ...state, at: call.at };
}

/** DER carries whole seconds. */
const sameSecond = (a: string, b: string): boolean => a.slice(0, 19) === b.slice(0, 19);
