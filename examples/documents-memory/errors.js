// Errors: a code, a message and details, carried as a gRPC status with google.rpc.ErrorInfo.

import { Metadata, status } from "@grpc/grpc-js";
import { ErrorInfo, Status } from "./protos.js";

const STATUSES = {
  host_error: status.INTERNAL,
  invalid_params: status.INVALID_ARGUMENT,
  invalid_request: status.INVALID_ARGUMENT,
  limit_exceeded: status.RESOURCE_EXHAUSTED,
  namespace_ownership: status.PERMISSION_DENIED,
  state_conflict: status.ABORTED,
  state_operation_conflict: status.ALREADY_EXISTS,
  unauthenticated: status.UNAUTHENTICATED,
};

/** A failure with a code of the contract, a message for people, and details for programs. */
export class Failure extends Error {
  constructor(code, message, details = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The status that a call ends with. What is not a `Failure` is a bug of ours: `host_error`. */
export function statusOf(error) {
  if (!(error instanceof Failure)) {
    console.error(error);
    return statusOf(new Failure("host_error", String(error.message).slice(0, 500)));
  }
  const code = STATUSES[error.code];
  const info = { reason: error.code, domain: "wuu", metadata: error.details };
  const details = [
    { type_url: "type.googleapis.com/google.rpc.ErrorInfo", value: ErrorInfo.serialize(info) },
  ];
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Status.serialize({ code, message: error.message, details }));
  return { code, details: error.message, metadata };
}
