/** Texts that strangers would like a page to take for something else. */

/** Each at most so many characters. */
export const hostile = (max: number): readonly string[] =>
  [
    "<img src=x onerror=window.hacked=1>",
    '"><script>window.hacked=1</script>',
    "javascript:window.hacked=1//",
    "{{constructor.constructor('window.hacked=1')()}}",
    "\u202Egnp.exe",
    "x".repeat(10_000),
  ].map((text) => text.slice(0, max));
