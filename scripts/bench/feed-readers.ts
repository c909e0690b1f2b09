/**
 * Readers of the live feed, in a process of their own: reads what is asked on standard input, says
 * when all are connected, and what they were told when it is asked to end.
 */

interface Asked {
  readonly host: string;
  readonly port: number;
  /** Each carries as many readers as the others. */
  readonly apiTokens: readonly string[];
  readonly readers: number;
}

const lines = console[Symbol.asyncIterator]();
const asked: Asked = JSON.parse((await lines.next()).value ?? "");
const told = { octets: 0, events: 0, lags: 0, dropped: 0, ended: 0 };
let connected = 0;
const { promise: all, resolve } = Promise.withResolvers<void>();

const sockets = await Promise.all(
  Array.from({ length: asked.readers }, (_, at) =>
    Bun.connect({
      hostname: asked.host,
      port: asked.port,
      tls: { rejectUnauthorized: false },
      socket: {
        handshake: (socket) => {
          const token = asked.apiTokens[at % asked.apiTokens.length];
          const head = `GET /api/events/stream HTTP/1.1\r\nHost: bench\r\nAuthorization: Token ${token}`;
          socket.write(`${head}\r\n\r\n`);
        },
        data: (_socket, octets) => take(at, octets),
        close: () => {
          told.ended += 1;
        },
      },
    }),
  ),
);
await all;
console.log("connected");
await lines.next();
console.log(JSON.stringify(told));
for (const socket of sockets) socket.terminate();
process.exit(0);

/** Only the first looks at what it is told; the others count octets, as cheap as can be. */
function take(at: number, octets: Uint8Array): void {
  told.octets += octets.byteLength;
  if (at !== 0) {
    if (octets.byteLength < 2000 && Buffer.from(octets).includes(": connected")) arrived();
    return;
  }
  const text = Buffer.from(octets).toString("latin1");
  if (text.includes(": connected")) arrived();
  told.events += text.split("event: audit\n").length - 1;
  for (const [, dropped] of text.matchAll(/event: lag\ndata: \{"dropped":(\d+)/g)) {
    told.lags += 1;
    told.dropped += Number(dropped);
  }
}

function arrived(): void {
  connected += 1;
  if (connected === asked.readers) resolve();
}
