/**
 * The signer process: the only one that holds private keys, knows the PIN and loads a PKCS#11
 * module.
 */

import { FrameReader, frameKinds, jsonBody, type Outbox, readJson } from "#adapters/keys/frames.ts";
import { faultBody, type LaunchFault, restartExitCode } from "#adapters/keys/requests.ts";
import type { Presenting, SignerConfiguration, SignerOrders } from "#adapters/keys/settings.ts";
import type { PinSource } from "#adapters/keys/pkcs11/hsm-token.ts";
import { openSoftwareProvider } from "#adapters/keys/software/provider.ts";
import { openStream } from "#adapters/keys/stream.ts";

import { ChangedSecret } from "./changed-secret.ts";
import { forbidDumps } from "./no-dumps.ts";
import type { SigningProvider } from "./provider.ts";
import { type FetchSecret, pinReader, withFetchedSecret } from "./secret.ts";
import { SignerService } from "./serve.ts";
import { ServerLink } from "./server-link.ts";

/** What the binary knows and a module inside it cannot. */
export interface SignerDeps {
  /** Fetches a PIN or passphrase from a server that keeps it. */
  readonly fetchSecret: FetchSecret;
  /** URL of the main module, which runs `runSignerWorker` when it finds itself in a worker. */
  readonly workerUrl: string;
}

/**
 * Serves the process that started this one over the inherited socket, file descriptor 3, until that
 * closes. The first frame is the configuration; the answer is `ready`, or the fault that keeps it
 * from serving.
 */
export async function runSigner(deps: SignerDeps): Promise<void> {
  forbidDumps();
  // A terminal sends its interrupt to the whole group; the server stops first and then closes the
  // socket.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const reader = new FrameReader();
  let service: SignerService | undefined;
  let opening = false;
  let nudge = () => {};
  const received = (chunk: Buffer, answers: Outbox) =>
    reader.push(chunk, (kind, id, body) => {
      if (service !== undefined) service.handle(kind, id, body);
      else if (kind === frameKinds.again) nudge();
      else if (!opening && kind === frameKinds.configure) {
        opening = true;
        // Written by our own binary over an inherited socket.
        const { configuration, presenting } = readJson(body) as SignerOrders;
        const source = pinSourceOf(configuration);
        const secret = new ChangedSecret({
          read: pinReader(configuration, deps.fetchSecret),
          pauses: source === "remote" ? remotePauses : localPauses,
        });
        nudge = () => secret.nudge();
        void open(configuration, answers, { ...deps, secret, presenting }).then((opened) => {
          service = opened;
        });
      }
    });
  await openStream(inheritedSocket, { received, closed: () => process.exit(0) });
}

async function open(
  configuration: SignerConfiguration,
  outbox: Outbox,
  deps: OpeningDeps,
): Promise<SignerService | undefined> {
  const restart = () => {
    outbox.flush();
    process.exit(restartExitCode);
  };
  const link = new ServerLink(outbox);
  try {
    const complete = await withFetchedSecret(configuration, deps.fetchSecret);
    const refused = (fault: LaunchFault) => {
      outbox.add(frameKinds.fault, 0, [faultBody(fault)]);
    };
    const provider = await openProvider(complete, link, { ...deps, restart, refused });
    outbox.add(frameKinds.ready, 0, [jsonBody(provider.facts())]);
    return new SignerService({ provider, outbox, link, restart });
  } catch (fault) {
    outbox.add(frameKinds.fault, 0, [faultBody(fault)]);
    outbox.flush();
    // The server closes the socket when it has read why; until then the words must not be lost.
    return undefined;
  }
}

async function openProvider(
  configuration: SignerConfiguration,
  link: ServerLink,
  { workerUrl, restart, refused, secret, presenting }: OpeningDeps & OpeningWays,
): Promise<SigningProvider> {
  if (configuration.provider === "software") {
    const provider = openSoftwareProvider(configuration.software, { workerUrl, link });
    provider.sealing?.use(configuration.keks);
    return provider;
  }
  const { openPkcs11Provider } = await import("#adapters/keys/pkcs11/provider.ts");
  const note = (sentence: string) => link.note(sentence);
  const anotherPin: PinSource["another"] = async (fault, tried, known) => {
    refused(fault);
    const pin = await secret.after(tried, known);
    return { pin, asked: secret.asked };
  };
  const deps = { workerUrl, restart, note, anotherPin, presenting };
  return openPkcs11Provider(configuration.pkcs11, deps);
}

interface OpeningDeps extends SignerDeps {
  readonly secret: ChangedSecret;
  readonly presenting: Presenting;
}

interface OpeningWays {
  readonly restart: (reason: string) => void;
  /** Tells the server why this process does not serve yet, and waits. */
  readonly refused: (fault: LaunchFault) => void;
}

const pinSourceOf = (configuration: SignerConfiguration): string =>
  configuration.provider === "pkcs11" ? configuration.pkcs11.pin.type : "none";

/** Seconds between two looks at a file whose PIN was refused. */
const localPauses = [2, 4, 8, 16, 32, 60];
/** Of a server that keeps it; some lock out who asks in vain too often. */
const remotePauses = [60];

/** The first descriptor after the standard three; the server makes it with a socket pair. */
const inheritedSocket = 3;
