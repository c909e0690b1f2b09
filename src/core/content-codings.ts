/** Which codings of an answer a client takes. */

/**
 * RFC 9110 §12.5.3: the first of these that the client names in `Accept-Encoding` without
 * forbidding it by `q=0`; undefined where it names none of them.
 */
export function codingOf<Coding extends string>(
  accepted: string,
  ours: readonly Coding[],
): Coding | undefined {
  const named = accepted
    .toLowerCase()
    .split(",")
    .filter((entry) => !/;\s*q=0(\.0*)?\s*$/.test(entry))
    .map((entry) => entry.split(";")[0]?.trim());
  return ours.find((coding) => named.includes(coding));
}
