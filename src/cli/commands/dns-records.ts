/** `pkid dns-records`: zone text that pins certificates and SSH host keys. */

import { parseHostName, sshfpRecords, tlsaProtocols, zoneText } from "#core/policy/pinning.ts";

import { choice, number, required, value } from "#cli/args.ts";
import { type Command, command } from "#cli/command.ts";
import { Failure, UsageError } from "#cli/failure.ts";
import { readTextArgument } from "#cli/io.ts";
import { caArg, caIdOf } from "#cli/references.ts";
import { textAt } from "#cli/rows.ts";
import { toSerialValue } from "#cli/serials.ts";

export const dnsRecordsVerbs: Readonly<Record<string, Command>> = {
  tlsa: command({
    summary: "Print TLSA records that pin a CA, and with --serial one of its certificates.",
    args: {
      ca: caArg,
      host: required("Host the service runs on.", "host"),
      port: number("Port of the service; 443 when not given.", "port"),
      protocol: choice("Transport of the service.", "protocol", tlsaProtocols),
      serial: value("Certificate of the service.", "serial"),
    },
    run: async ({ args, globals, client, print }) => {
      const id = await caIdOf(client, args.ca);
      const { host, port, protocol } = args;
      const serial = toSerialValue(args.serial, globals["serial-format"]);
      const records = await client.ask("dns.tlsa", { id, host, port, protocol, serial });
      print(records, `${textAt(records, "zone")}\n`);
    },
  }),
  sshfp: command({
    summary: "Print SSHFP records of an SSH host key; computed here, asking no server.",
    args: {
      host: required("Host the key belongs to.", "host"),
      pub: required("Public key file of OpenSSH, - for stdin.", "file"),
    },
    run: async ({ args, io, print }) => {
      const host = parseHostName(args.host);
      if (host === undefined) throw new UsageError(`${args.host} is not a host name.`);
      const sshfp = sshfpRecords(host, await readTextArgument(io, args.pub));
      if (sshfp === undefined) {
        throw new Failure(`${args.pub} holds no SSH public key that SSHFP has a number for.`);
      }
      print({ sshfp, zone: zoneText(sshfp) }, `${zoneText(sshfp)}\n`);
    },
  }),
};
