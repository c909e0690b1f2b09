/**
 * As much of a handshake of TLS 1.2 as is in the clear: what a client asks, and which protocol and
 * certificate a server shows (RFC 5246 §7.4, RFC 7301). tls-alpn-01 needs no more (RFC 8737 §3).
 */

/** What is asked for; `random` are 32 octets. */
export interface Hello {
  /** In A-labels. */
  readonly name: string;
  /** The only protocol that is offered. */
  readonly protocol: string;
  readonly random: Uint8Array;
}

/** A ClientHello in a record of its own, for every cipher suite that a server may still have. */
export function clientHello({ name, protocol, random }: Hello): Uint8Array {
  const host = Buffer.concat([Buffer.of(0), vector(2, Buffer.from(name, "latin1"))]);
  const extensions = [
    extension(extensionTypes.serverName, vector(2, host)),
    extension(extensionTypes.groups, vector(2, numbers(groups))),
    extension(extensionTypes.pointFormats, vector(1, Buffer.of(0))),
    extension(extensionTypes.signatures, vector(2, numbers(signatures))),
    extension(extensionTypes.protocols, vector(2, vector(1, Buffer.from(protocol, "latin1")))),
    extension(extensionTypes.extendedMasterSecret, Buffer.alloc(0)),
    extension(extensionTypes.renegotiation, Buffer.of(0)),
  ];
  const body = Buffer.concat([
    numbers([tls12]),
    random,
    vector(1, Buffer.alloc(0)),
    vector(2, numbers(suites)),
    vector(1, Buffer.of(0)),
    vector(2, Buffer.concat(extensions)),
  ]);
  const message = Buffer.concat([Buffer.of(messageTypes.clientHello), vector(3, body)]);
  // RFC 5246 appendix E.1: the record of a first message says TLS 1.0.
  return Buffer.concat([Buffer.of(recordTypes.handshake), numbers([0x0301]), vector(2, message)]);
}

/** What has been heard of a server so far. */
export type Heard =
  /** Nothing new can be read of fewer octets than `least`. */
  | { readonly kind: "more"; readonly least: number }
  /** It refuses, speaks an older version, or says what no server of TLS would. */
  | { readonly kind: "refused" }
  | {
      readonly kind: "shown";
      /** The protocol it chose; undefined when it chose none. */
      readonly protocol: string | undefined;
      /** DER of the first certificate. */
      readonly certificate: Uint8Array;
    };

/** Reads what a server has sent since its first octet; longer than 16 KiB is refused. */
export function readServerHello(octets: Uint8Array): Heard {
  if (octets.length > octetsMax) return refused;
  const records = handshakeIn(octets);
  if (records === undefined) return refused;
  const { messages, least } = records;
  let hello: Reader | undefined;
  for (const reader = new Reader(messages); ; ) {
    const type = reader.number(1);
    const body = reader.vector(3);
    if (type === undefined || body === undefined) return { kind: "more", least };
    if (hello === undefined) {
      if (type !== messageTypes.serverHello) return refused;
      hello = new Reader(body);
    } else if (type === messageTypes.certificate) {
      return shownIn(hello, new Reader(body));
    } else {
      return refused;
    }
  }
}

/**
 * The octets of all handshake messages in whole records, and where the next record ends at the
 * earliest; undefined for a record of another kind, or without content.
 */
function handshakeIn(octets: Uint8Array) {
  const parts: Uint8Array[] = [];
  for (let at = 0; ; ) {
    const header = new Reader(octets.subarray(at, at + headerOctets));
    const [type, version, length] = [header.number(1), header.number(2), header.number(2)];
    if (type !== undefined && type !== recordTypes.handshake) return undefined;
    if (version !== undefined && version >> 8 !== 3) return undefined;
    if (length === 0) return undefined;
    const end = at + headerOctets + (length ?? 1);
    if (length === undefined || end > octets.length) {
      return { messages: Buffer.concat(parts), least: end };
    }
    parts.push(octets.subarray(at + headerOctets, end));
    at = end;
  }
}

function shownIn(hello: Reader, certificates: Reader): Heard {
  if (hello.number(2) !== tls12) return refused;
  const rest = hello.skip(randomOctets) && hello.vector(1) && hello.skip(suiteAndCompression);
  const list = certificates.vector(3);
  const certificate = list && new Reader(list).vector(3);
  if (rest === undefined || certificate === undefined) return refused;
  return { kind: "shown", protocol: protocolIn(hello.vector(2)), certificate };
}

/** RFC 7301 §3.1: the server names one protocol. */
function protocolIn(extensions: Uint8Array | undefined): string | undefined {
  for (const reader = new Reader(extensions ?? new Uint8Array()); ; ) {
    const type = reader.number(2);
    const content = reader.vector(2);
    if (type === undefined || content === undefined) return undefined;
    if (type !== extensionTypes.protocols) continue;
    const list = new Reader(content).vector(2);
    const protocol = list && new Reader(list).vector(1);
    return protocol && Buffer.from(protocol).toString("latin1");
  }
}

/** Reads numbers and vectors; undefined where there is less than they say. */
class Reader {
  readonly #octets: Uint8Array;
  #at = 0;

  constructor(octets: Uint8Array) {
    this.#octets = octets;
  }

  number(octets: number): number | undefined {
    const taken = this.skip(octets);
    return taken?.reduce((sum, octet) => sum * 256 + octet, 0);
  }

  /** As many octets as the number before them says. */
  vector(lengthOctets: number): Uint8Array | undefined {
    const length = this.number(lengthOctets);
    return length === undefined ? undefined : this.skip(length);
  }

  skip(length: number): Uint8Array | undefined {
    if (this.#at + length > this.#octets.length) return undefined;
    this.#at += length;
    return this.#octets.subarray(this.#at - length, this.#at);
  }
}

const extension = (type: number, content: Uint8Array): Buffer =>
  Buffer.concat([numbers([type]), vector(2, content)]);

function vector(lengthOctets: number, content: Uint8Array): Buffer {
  const length = Buffer.alloc(lengthOctets);
  length.writeUIntBE(content.length, 0, lengthOctets);
  return Buffer.concat([length, content]);
}

const numbers = (values: readonly number[]): Buffer =>
  Buffer.from(values.flatMap((value) => [value >> 8, value & 255]));

const refused: Heard = { kind: "refused" };
const tls12 = 0x0303;
const randomOctets = 32;
const suiteAndCompression = 3;
const octetsMax = 16_384;
const headerOctets = 5;
const recordTypes = { handshake: 22 } as const;
const messageTypes = { clientHello: 1, serverHello: 2, certificate: 11 } as const;
const extensionTypes = {
  serverName: 0,
  groups: 10,
  pointFormats: 11,
  signatures: 13,
  protocols: 16,
  extendedMasterSecret: 23,
  renegotiation: 0xff01,
} as const;

/** ECDHE with AEAD, then with CBC, for keys of both kinds, then RSA key transport. */
const suites = [
  0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc009, 0xc013, 0xc00a, 0xc014, 0x009c, 0x009d,
  0x002f, 0x0035,
];
/** X25519, P-256, P-384, P-521. */
const groups = [0x001d, 0x0017, 0x0018, 0x0019];
/** ECDSA, RSA-PSS and PKCS#1 with SHA-256, 384 and 512, and Ed25519. */
const signatures = [0x0403, 0x0503, 0x0603, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0807];
