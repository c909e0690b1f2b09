/** The messages of status.proto, written by `bun scripts/proto.ts`. */

import { ProtoSchema } from "#core/protobuf/schema.ts";

// biome-ignore format: the descriptor is generated.
export const statusSchema = new ProtoSchema(
  [
    "Egpnb29nbGUucnBjIkkKBlN0YXR1cxIMCgRjb2RlGAEgASgFEg8KB21lc3NhZ2UYAiABKAkSIAoHZGV0YWlscxgDIA",
    "MoCzIPLmdvb2dsZS5ycGMuQW55Ij0KA0FueRIQCgh0eXBlX3VybBgBIAEoCRIkCgV2YWx1ZRgCIAEoCzIVLmdvb2ds",
    "ZS5ycGMuRXJyb3JJbmZvIi0KCUVycm9ySW5mbxIMCgRjb2RlGAEgASgJEhIKCmZhY3RzX2pzb24YAiABKAliBnByb3",
    "RvMw",
  ].join(""),
);
