/** What every page is drawn with. */

export interface PageProps {
  /** The segments behind the page's own. */
  readonly rest: readonly string[];
}
