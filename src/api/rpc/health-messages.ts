/** The messages of health.proto, written by `bun scripts/proto.ts`. */

import { ProtoSchema } from "#core/protobuf/schema.ts";

// biome-ignore format: the descriptor is generated.
export const healthSchema = new ProtoSchema(
  [
    "Eg5ncnBjLmhlYWx0aC52MSIlChJIZWFsdGhDaGVja1JlcXVlc3QSDwoHc2VydmljZRgBIAEoCSJEChNIZWFsdGhDaG",
    "Vja1Jlc3BvbnNlEi0KBnN0YXR1cxgBIAEoDjIdLmdycGMuaGVhbHRoLnYxLlNlcnZpbmdTdGF0dXMqTwoNU2Vydmlu",
    "Z1N0YXR1cxILCgdVTktOT1dOEAASCwoHU0VSVklORxABEg8KC05PVF9TRVJWSU5HEAISEwoPU0VSVklDRV9VTktOT1",
    "dOEANiBnByb3RvMw",
  ].join(""),
);
