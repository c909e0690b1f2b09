/** What is made from a section of the configuration that a reload may replace. */

/** The value made from what is in force; made again only when that is another object. */
export function madeFrom<Section extends object, Made>(
  inForce: () => Section,
  make: (section: Section) => Made,
): () => Made {
  let known: { readonly section: Section; readonly made: Made } | undefined;
  return () => {
    const section = inForce();
    if (known?.section !== section) known = { section, made: make(section) };
    return known.made;
  };
}
