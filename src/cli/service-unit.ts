/** The files that have systemd run pkid: a hardened unit, its user, and its directories. */

import type { Config } from "#config/schema.ts";
import { writtenDirectories } from "#config/written.ts";

import { type SocketNeed, socketFile } from "./service-sockets.ts";

/** Where the service has its configuration, its data and its sockets. */
export const serviceHome = {
  config: "/etc/pkid/pkid.yaml",
  data: "/var/lib/pkid",
  sockets: "/run/pkid",
} as const;

const configFile = serviceHome.config;
const own: readonly string[] = [serviceHome.data, serviceHome.sockets];
/** How every file begins that this command may replace. */
const ownLine = "# Written by pkid service install, which may replace it.";

/** What a unit is written for. */
export interface ServiceNeeds {
  /** The program, as the unit calls it. */
  readonly binary: string;
  /** Seconds the server may take to stop. */
  readonly stopSeconds: number;
  /** True when it listens on a port below 1024. */
  readonly lowPort: boolean;
  /** Directories it writes to beside its own. */
  readonly writable: readonly string[];
  /** Those of them that are made for it where they are missing. */
  readonly made: readonly MadeDirectory[];
  /** Device nodes, or classes such as `char-usb_device`, that an HSM needs. */
  readonly devices: readonly string[];
  /** What systemd listens on for it; empty where it listens by itself. */
  readonly sockets: readonly SocketNeed[];
}

/** A directory that is the service's; `open` for all to read. */
export interface MadeDirectory {
  readonly path: string;
  readonly open: boolean;
}

/** What a configuration asks of the unit. */
export function needsOfConfig(
  config: Config,
): Pick<ServiceNeeds, "stopSeconds" | "lowPort" | "writable" | "made"> {
  const { server } = config;
  const { public_http } = server;
  const publicPort = Number(public_http.address.split(":").at(-1));
  const ports = public_http.enabled ? [server.port, publicPort] : [server.port];
  const within = (path: string, folder: string) => `${path}/`.startsWith(`${folder}/`);
  const written = writtenDirectories(config);
  const outside = written.filter(({ path }) => own.every((folder) => !within(path, folder)));
  // What lies inside of another one is made by the server, as a part of it.
  const roots = outside.filter(({ path }) =>
    outside.every((other) => other.path === path || !within(path, other.path)),
  );
  return {
    stopSeconds: server.shutdown_delay_seconds + server.shutdown_timeout_seconds,
    lowPort: ports.some((port) => port > 0 && port < 1024),
    writable: [...new Set(outside.map(({ path }) => path))],
    made: roots.flatMap(({ path, made }) =>
      made === undefined ? [] : [{ path, open: made === "public directory" }],
    ),
  };
}

/** The unit. */
export const unitFile = (needs: ServiceNeeds): string => `${ownLine}
# Put changes into a drop-in, which stays: systemctl edit pkid
${lifeOf(needs)}
${boundsOf(needs)}
[Install]
WantedBy=multi-user.target
`;

/** The unit of a socket. */
export const socketUnit = (need: SocketNeed): string => socketFile(need, ownLine);

/** The user, for sysusers.d(5). */
export const usersFile = `${ownLine}
u pkid - "pkid certificate authority" /var/lib/pkid
`;

/**
 * Who may read the configuration, and what the service cannot make itself, for tmpfiles.d(5): to it
 * all around those directories is read-only. One that is there stays as it is. The data directory
 * is the unit's to make: an instance that another user has run before is then given to its user
 * with all that is in it.
 */
export const directoriesFile = (made: readonly MadeDirectory[]): string => `${ownLine}
d /etc/pkid 0750 root pkid -
z ${configFile} 0640 root pkid -
${made.map(({ path, open }) => `d ${path} :${open ? "0755" : "0700"} :pkid :pkid -\n`).join("")}`;

/** True for a file that this command, or a package made with it, has written. */
export const isOurs = (text: string): boolean => text.startsWith(`${ownLine}\n`);

/** What can stand in a unit as it is: no blank, quote, percent sign, dollar or backslash. */
export const isPlainPath = (path: string): boolean => /^\/[A-Za-z0-9._+@/:-]*$/.test(path);

/** When it is started, told and stopped. */
const lifeOf = (needs: ServiceNeeds): string => `[Unit]
Description=pkid certificate authority
Wants=network-online.target
After=network-online.target nss-lookup.target time-sync.target pcscd.socket postgresql.service
ConditionPathExists=${configFile}
# What a start waits for (a database, a token) may come late: it is tried until it is there.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
${socketLine(needs.sockets)}User=pkid
Group=pkid
ExecStart=${needs.binary} serve --config ${configFile}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=5
# A wrong command line does not mend itself.
RestartPreventExitStatus=2
# Migrations and recovery of a large database take their time.
TimeoutStartSec=30min
# server.shutdown_delay_seconds and server.shutdown_timeout_seconds, and what a disk may take.
TimeoutStopSec=${needs.stopSeconds + 15}
# Restarted when the event loop stands still, or the database neither answers nor refuses.
WatchdogSec=60
KillMode=mixed
`;

/** What it may see and do. */
const boundsOf = (
  needs: ServiceNeeds,
): string => `# Directories: all else is read-only, and homes are not there.
StateDirectory=pkid
StateDirectoryMode=0700
ConfigurationDirectory=pkid
ConfigurationDirectoryMode=0750
RuntimeDirectory=pkid
RuntimeDirectoryMode=0755
UMask=0077
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateMounts=yes
${writableLines(needs.writable)}
# Environment of the service, such as SOFTHSM2_CONF; none of what turns the binary into another
# program.
EnvironmentFile=-/etc/pkid/environment
UnsetEnvironment=BUN_BE_BUN BUN_OPTIONS BUN_INSPECT

LimitNOFILE=65536
LimitCORE=0

NoNewPrivileges=yes
${capabilityLines(needs.lowPort && needs.sockets.length === 0)}
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProcSubset=pid
${deviceLines(needs.devices)}
# MemoryDenyWriteExecute= must stay off: the runtime compiles JavaScript to machine code, which it
# writes to memory and then runs.
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
# A socket is given to the group of server.unix_socket.group.
SystemCallFilter=@chown
SystemCallErrorNumber=EPERM
# Which addresses it may reach is known to the operator only: IPAddressDeny= in a drop-in.
`;

function socketLine(sockets: readonly SocketNeed[]): string {
  if (sockets.length === 0) return "";
  const units = sockets.map(({ unit }) => unit).join(" ");
  return `# They stay open while the service is replaced.\nSockets=${units}\n`;
}

function writableLines(writable: readonly string[]): string {
  if (writable.length === 0) return "";
  return `ReadWritePaths=${writable.map((path) => `-${path}`).join(" ")}\n`;
}

function capabilityLines(lowPort: boolean): string {
  if (!lowPort) return "CapabilityBoundingSet=\nAmbientCapabilities=";
  return "# A configured port is below 1024.\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\nAmbientCapabilities=CAP_NET_BIND_SERVICE";
}

/** A private /dev has none of the nodes a token needs: then only these may be opened. */
function deviceLines(devices: readonly string[]): string {
  if (devices.length === 0) return "PrivateDevices=yes\nDevicePolicy=closed";
  const allowed = devices.map((device) => `DeviceAllow=${device} rw`);
  return ["DevicePolicy=closed", ...allowed].join("\n");
}
