/** Which page an address means; the part after `#` is the whole state of the console. */

export type Route =
  | { readonly page: "status" }
  | { readonly page: "cas" }
  | { readonly page: "ca"; readonly id: string }
  | { readonly page: "events" }
  | { readonly page: "sessions" }
  | { readonly page: "passkeys" };

/** Reads `location.hash`; what it does not know is the status page. */
export function parseRoute(hash: string): Route {
  const [page = "", id = ""] = hash.replace(/^#\/?/, "").split("/");
  if (page === "cas") return id === "" ? { page: "cas" } : { page: "ca", id: decoded(id) };
  const known = page === "events" || page === "sessions" || page === "passkeys";
  return known ? { page } : { page: "status" };
}

/** The address of a page, for links. */
export const hashOf = (route: Route): string =>
  route.page === "ca" ? `#/cas/${encodeURIComponent(route.id)}` : `#/${route.page}`;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A broken escape in an address somebody typed names no CA; the server says so.
    return text;
  }
}
