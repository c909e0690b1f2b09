/** A datagram socket such as a service manager listens on; the runtime has none of the kind. */

import { eachLine, ran } from "#test/support/child.ts";
import { until } from "#test/support/until.ts";

/** What has come so far, a datagram each. */
export class Datagrams {
  readonly messages: string[] = [];
  readonly #child: Bun.Subprocess<"ignore", "pipe", "inherit">;

  private constructor(child: Bun.Subprocess<"ignore", "pipe", "inherit">) {
    this.#child = child;
  }

  /** Listens at a path, or at `@` and an abstract name. */
  static async at(address: string): Promise<Datagrams> {
    const child = Bun.spawn([await python(), "-uc", listener, address], {
      stdin: "ignore",
      stdout: "pipe",
    });
    const datagrams = new Datagrams(child);
    void eachLine(child.stdout, (line) => datagrams.messages.push(JSON.parse(line)));
    await until(() => datagrams.messages.length > 0);
    datagrams.messages.length = 0;
    return datagrams;
  }

  /** Settles once one has come that begins so. */
  async heard(beginning: string): Promise<void> {
    await until(() => this.messages.some((one) => one.startsWith(beginning)));
  }

  close(): void {
    this.#child.kill();
  }
}

const python = async (): Promise<string> =>
  (await ran(["sh", "-c", "command -v /usr/bin/python3 || command -v python3"])).stdout.trim();

const listener = `
import json, socket, sys
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = sys.argv[1]
heard.bind("\\0" + name[1:] if name[0] == "@" else name)
print(json.dumps("listening"))
while True:
    print(json.dumps(heard.recv(4096).decode()))
`;
