/**
 * What the browser keeps between visits: how the console looks, and where one was before a
 * provider asked who one is. Nothing that proves anything is ever kept.
 */

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const densities = ["roomy", "dense"] as const;
export type Density = (typeof densities)[number];

/** The theme chosen on this machine; `system` where none was. */
export const rememberedTheme = (): Theme => oneOf(themes, local("pkid.theme"));

export const rememberTheme = (theme: Theme): void => keep(() => localStorage, "pkid.theme", theme);

/** How much room rows take on this machine. */
export const rememberedDensity = (): Density => oneOf(densities, local("pkid.density"));

export const rememberDensity = (density: Density): void =>
  keep(() => localStorage, "pkid.density", density);

/** An address of the console to come back to after a provider has sent the browser back. */
export const rememberReturn = (href: string): void =>
  keep(() => sessionStorage, "pkid.return", href);

/** Gives that address once; what is no address of the console is none. */
export function takeReturn(): string | undefined {
  try {
    const href = sessionStorage.getItem("pkid.return") ?? "";
    sessionStorage.removeItem("pkid.return");
    return /^\/console\/[^\\]*$/.test(href) ? href : undefined;
  } catch {
    // A browser that keeps nothing has nothing to come back to.
    return undefined;
  }
}

function local(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    // A browser may refuse its storage as a whole; then everything is as on the first visit.
    return null;
  }
}

function keep(storage: () => Storage, key: string, value: string): void {
  try {
    storage().setItem(key, value);
  } catch {
    // What cannot be kept is chosen again next time.
  }
}

const oneOf = <const W extends string>(words: readonly [W, ...W[]], word: string | null): W =>
  words.find((known) => known === word) ?? words[0];
