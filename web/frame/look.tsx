/** How the console looks on this machine: the theme, and how much room rows take. */

import { useState } from "preact/hooks";
import {
  densities,
  rememberDensity,
  rememberedDensity,
  rememberedTheme,
  rememberTheme,
  themes,
} from "#web/remembered.ts";

/** Puts what is remembered on the document, where the style sheet looks. */
export function applyLook(): void {
  document.documentElement.dataset.theme = rememberedTheme();
  document.documentElement.dataset.density = rememberedDensity();
}

/** Two buttons that go round their choices. */
export function LookSwitches() {
  const [theme, setTheme] = useState(rememberedTheme);
  const [density, setDensity] = useState(rememberedDensity);
  const nextTheme = after(themes, theme);
  const nextDensity = after(densities, density);
  const choose = (change: () => void) => () => {
    change();
    applyLook();
    setTheme(rememberedTheme());
    setDensity(rememberedDensity());
  };
  return (
    <>
      <button
        type="button"
        class="button plain"
        title={`Theme: ${theme}. Change to ${nextTheme}.`}
        aria-label={`Theme: ${theme}`}
        onClick={choose(() => rememberTheme(nextTheme))}
      >
        <span aria-hidden="true">{themeSigns[theme]}</span>
      </button>
      <button
        type="button"
        class="button plain wide"
        title={`Rows: ${density}. Change to ${nextDensity}.`}
        aria-label={`Rows: ${density}`}
        onClick={choose(() => rememberDensity(nextDensity))}
      >
        <span aria-hidden="true">{density === "dense" ? "☰" : "☷"}</span>
      </button>
    </>
  );
}

function after<W>(words: readonly W[], word: W): W {
  return words[(words.indexOf(word) + 1) % words.length] ?? word;
}

const themeSigns = { system: "◑", light: "○", dark: "●" } as const;
