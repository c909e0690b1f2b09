/** What is asked for, before it has been read. */

/**
 * What is asked for, as its caller's codec has it: JSON, a message, a stored request. Nothing is
 * read before the capability is known to be held, and the pipeline alone looks at what is unread.
 */
export interface Given {
  /** What the route names; the rest may be long, and is not looked at for this. */
  readonly named: Readonly<Record<string, string | undefined>>;
  /** One member as it was given, unread; undefined where it was not. */
  peek(member: string): Promise<unknown>;
  /** All members, read by the operation's shapes; refuses what they refuse. */
  read(): Promise<Readonly<Record<string, unknown>>>;
}
