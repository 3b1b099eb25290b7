// The gRPC service of the interop suite and its shapes, with messages that stay as they are.

export const MESSAGE_LIMIT = 64 * 1024 * 1024;

const STREAMS = {
  Gather: [true, false],
  First: [true, false],
  Scatter: [false, true],
  Break: [false, true],
  Both: [true, true],
  Linger: [true, true],
};

const UNARY = ["Unary", "Press", "Fail", "See", "Hang", "Watch", "Meet"];

const bytes = (message) => message;

export const rpc = (service, name, [requestStream, responseStream] = [false, false]) => ({
  path: `/${service}/${name}`,
  requestStream,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});

export const definition = (service, names) =>
  Object.fromEntries(names.map((name) => [name, rpc(service, name)]));

export const Wire = {
  ...definition("interop.v1.Wire", UNARY),
  ...Object.fromEntries(
    Object.entries(STREAMS).map(([name, shape]) => [name, rpc("interop.v1.Wire", name, shape)]),
  ),
};
