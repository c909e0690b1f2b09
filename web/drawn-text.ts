/**
 * Keeps what strangers wrote from turning the text around it: whatever page draws it, a mark of
 * direction is seen instead of obeyed.
 */

import { options, type VNode } from "preact";
import { marksShown } from "#web/ui/plain.ts";

/** From now on, for all that is drawn: words, and what is said or seen in their place. */
export function showMarks(): void {
  options.vnode = (drawn) => {
    // Preact's own types leave out that words are nodes too, with no type and the text as their
    // properties, and say nothing of attributes.
    const node = drawn as VNode<Spoken> | { type: null; props: string };
    if (node.type === null) {
      if (typeof node.props === "string") node.props = marksShown(node.props);
    } else if (typeof node.type === "string") {
      showIn(node.props);
    }
  };
}

/** Attributes that are read out, or shown on hover. */
interface Spoken {
  title?: unknown;
  "aria-label"?: unknown;
}

function showIn(attributes: Spoken): void {
  const { title, "aria-label": label } = attributes;
  if (typeof title === "string") attributes.title = marksShown(title);
  if (typeof label === "string") attributes["aria-label"] = marksShown(label);
}
