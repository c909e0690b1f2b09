/** What a Containerfile says of a run, and what an image made without a builder refuses. */

import { describe, expect, test } from "bun:test";

import { runSettings } from "#scripts/lib/containerfile.ts";

const lines = [
  "FROM scratch",
  "ADD files.tar /",
  "USER 7:8",
  "WORKDIR /home",
  "ENV A=b",
  'VOLUME ["/home"]',
  "EXPOSE 443",
  "STOPSIGNAL SIGTERM",
  'ENTRYPOINT ["/a"]',
  'CMD ["b"]',
];

test("a Containerfile is read into the configuration of an image", () => {
  expect(runSettings(`# A comment.\n\n${lines.join("\n")}\n`)).toEqual({
    User: "7:8",
    ExposedPorts: { "443/tcp": {} },
    Env: ["A=b"],
    Entrypoint: ["/a"],
    Cmd: ["b"],
    Volumes: { "/home": {} },
    WorkingDir: "/home",
    StopSignal: "SIGTERM",
  });
});

describe("a Containerfile is refused", () => {
  const refused = (given: readonly string[]) => () => runSettings(given.join("\n"));

  test.each(["RUN true", "COPY a b", "HEALTHCHECK NONE", "nonsense"])("that says %s", (line) => {
    expect(refused(lines.concat(line))).toThrow(`${line}: an image made without a builder`);
  });

  test("that has a base or another archive", () => {
    expect(refused(lines.with(0, "FROM debian"))).toThrow("FROM debian: an image made");
    expect(refused(lines.with(1, "ADD other.tar /"))).toThrow("ADD other.tar /: an image made");
  });

  test("that says a thing twice, or leaves out how it is run", () => {
    expect(refused(lines.concat("ENV C=d"))).toThrow("ENV C=d: ENV was said before");
    expect(refused(lines.filter((line) => !line.startsWith("USER")))).toThrow("does not say USER");
  });
});
