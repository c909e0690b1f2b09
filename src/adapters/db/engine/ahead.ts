/** The statements of one PostgreSQL batch that were sent ahead of their answers. */

import { SQL } from "bun";

/** Why a statement came to nothing. */
interface Failure {
  readonly cause: unknown;
}

/** One for each batch: what fails late of one that is over is no later one's failure. */
export class Ahead {
  readonly #answers: Promise<void>[] = [];
  #failed: Failure | undefined;
  #unsent: Failure | undefined;

  /** The first of them that the server answered with an error. */
  get failed(): Failure | undefined {
    return this.#failed;
  }

  /** The first that failed here. */
  get unsent(): Failure | undefined {
    return this.#unsent;
  }

  add(sent: Promise<unknown>): void {
    const noted = sent.then(
      () => {},
      (cause: unknown) => {
        if (isServersAnswer(cause)) this.#failed ??= { cause };
        else this.#unsent ??= { cause };
      },
    );
    this.#answers.push(noted);
  }

  /** What the server answered with an error has been undone. */
  undone(): void {
    this.#failed = undefined;
  }

  /** Resolves when each of them has its answer, or never will. */
  async answered(): Promise<void> {
    await Promise.all(this.#answers);
  }

  /**
   * Throws what kept a later statement from being carried out: behind one that failed the server
   * says of all others only that the transaction is over.
   */
  async rethrow(error: unknown): Promise<never> {
    if (!(error instanceof SQL.PostgresError) || error.errno !== inFailedTransaction) throw error;
    await this.answered();
    throw this.#failed?.cause ?? error;
  }
}

/** Whatever it says, a statement it is about was not carried out. */
const isServersAnswer = (error: unknown): boolean =>
  error instanceof SQL.PostgresError && error.code === "ERR_POSTGRES_SERVER_ERROR";

/** SQLSTATE in_failed_sql_transaction. */
const inFailedTransaction = "25P02";
