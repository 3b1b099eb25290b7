// The contracts, loaded as they stand in the repository's proto/, and the two that gRPC itself brings.

import { fileURLToPath } from "node:url";
import { loadSync } from "@grpc/proto-loader";

const directory = (path) => fileURLToPath(new URL(path, import.meta.url));

const definitions = loadSync(
  [
    "wuu/mesh/v1/context.proto",
    "wuu/mesh/v1/lifecycle.proto",
    "wuu/state/documents/v1/documents.proto",
    "grpc/health/v1/health.proto",
    "google/rpc/status.proto",
  ],
  {
    // A package that leaves the repository takes a copy of proto/ along and names it here.
    includeDirs: [directory("../../proto"), directory("./proto")],
    keepCase: true,
    enums: String,
    longs: Number,
    defaults: true,
    oneofs: true,
  },
);

export const {
  "google.rpc.ErrorInfo": ErrorInfo,
  "google.rpc.Status": Status,
  "grpc.health.v1.Health": Health,
  "wuu.mesh.v1.CallContext": CallContext,
  "wuu.mesh.v1.Lifecycle": Lifecycle,
  "wuu.mesh.v1.SignedContext": SignedContext,
  "wuu.state.documents.v1.Documents": Documents,
} = definitions;

/**
 * What the contract says about an rpc: the option `(wuu.mesh.v1.method)`.
 */
export const contractOf = ({ options }) => options["(wuu.mesh.v1.method)"];
