/**
 * Runs protoc on pki.proto: another implementation of the format, and the descriptors its clients
 * are made from.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createFileRegistry, fromBinary, type DescService } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/**
 * What protoc writes, given these arguments and this input; throws with its words when it fails.
 */
export function runProtoc(
  wanted: readonly string[],
  input: Uint8Array = new Uint8Array(),
  file: ProtoFile = pkiFile,
): Buffer {
  const command = ["protoc", `--proto_path=${file.folder}`, `--proto_path=${wellKnown()}`];
  const ran = Bun.spawnSync([...command, ...wanted, file.name], {
    stdin: input,
    stdout: "pipe",
    stderr: "pipe",
  });
  if (ran.exitCode !== 0) throw new Error(ran.stderr.toString());
  return ran.stdout;
}

/** A service as a client of Connect or gRPC-Web is made from it. */
export function serviceOf(name: string, file: ProtoFile = pkiFile): DescService {
  const folder = mkdtempSync(join(tmpdir(), "pkid-descriptors-"));
  const path = join(folder, "set");
  runProtoc([`--descriptor_set_out=${path}`, "--include_imports"], undefined, file);
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(path));
  rmSync(folder, { recursive: true });
  const service = createFileRegistry(set).getService(name);
  if (service === undefined) throw new Error(`${file.name} has no service ${name}`);
  return service;
}

/** grpc.health.v1 as the gRPC project publishes it. */
export function healthFile(): ProtoFile {
  const folder = join(tmpdir(), "pkid-health-proto");
  mkdirSync(folder, { recursive: true });
  const text = `syntax = "proto3"; package grpc.health.v1;
    message HealthCheckRequest { string service = 1; }
    message HealthCheckResponse {
      enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
      ServingStatus status = 1;
    }
    service Health {
      rpc Check(HealthCheckRequest) returns (HealthCheckResponse);
      rpc Watch(HealthCheckRequest) returns (stream HealthCheckResponse);
    }`;
  writeFileSync(join(folder, "health.proto"), text);
  return { folder, name: "health.proto" };
}

interface ProtoFile {
  readonly folder: string;
  readonly name: string;
}
const pkiFile: ProtoFile = {
  folder: join(import.meta.dir, "../../../src/api/rpc"),
  name: "pki.proto",
};

/** Debian keeps the well-known types in a package of headers; one of them is all that is wanted. */
function wellKnown(): string {
  const include = join(tmpdir(), "pkid-well-known-types");
  mkdirSync(join(include, "google/protobuf"), { recursive: true });
  const text = `syntax = "proto3"; package google.protobuf;
    message Timestamp { int64 seconds = 1; int32 nanos = 2; }`;
  writeFileSync(join(include, "google/protobuf/timestamp.proto"), text);
  return include;
}
