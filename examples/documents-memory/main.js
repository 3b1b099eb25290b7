// The program: handshake, server, lifecycle, lifeline, in the order in which they happen.

import { createInterface } from "node:readline";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { verify } from "./context.js";
import { documents } from "./documents.js";
import { Failure, statusOf } from "./errors.js";
import { contractOf, Documents, Health, Lifecycle } from "./protos.js";
import { Store } from "./store.js";

const MESSAGE_LIMIT = 64 * 1024 * 1024;

const server = new Server({
  "grpc.max_receive_message_length": MESSAGE_LIMIT,
  "grpc.max_send_message_length": MESSAGE_LIMIT,
});

// The first line of standard input is the handshake; the end of standard input means stop.
const lifeline = createInterface({ input: process.stdin });
lifeline.once("line", (line) => start(JSON.parse(line)));
lifeline.once("close", () => server.tryShutdown(() => process.exit()));

function start(handshake) {
  server.addService(Health, { Check: (_call, answer) => answer(null, { status: "SERVING" }) });
  server.addService(Lifecycle, handlers(Lifecycle, lifecycle(), handshake, "wuu.mesh.lifecycle@2"));
  server.addService(Documents, handlers(Documents, documents(new Store()), handshake, "state.documents@1"));
  server.bindAsync(`unix:${handshake.listen}`, ServerCredentials.createInsecure(), (error) => {
    if (error) throw error;
  });
}

/** What is declared, and nothing else to do: this store has nothing to open and nothing to close. */
const lifecycle = () => ({
  Initialize({ module, config }) {
    const given = Object.keys(JSON.parse(config?.utf8.toString() || "{}"));
    if (given.length > 0) {
      throw new Failure("invalid_request", `config of ${module}: there is no field '${given[0]}'`);
    }
    return { lifecycle_version: 2, declaration: { provided_services: [descriptor()] } };
  },
  Prepare: () => ({}),
  Activate: () => ({}),
  ServiceChanged: () => ({}),
  Shutdown: () => ({}),
});

/** The descriptor of state.documents@1 as this provider serves it, out of the options of the proto. */
function descriptor() {
  const methods = ["Read", "Commit", "Export"].map((rpc) => {
    const { name, preparation, cleanup, journaled } = contractOf(Documents[rpc]);
    const schema = (direction) => `state.documents.${name}.${direction}.v1`;
    const schemas = { input_schema: schema("input"), output_schema: schema("output") };
    return { name, rpc, ...schemas, preparation, cleanup, journaled, shape: "SHAPE_UNARY" };
  });
  const grpc_service = "wuu.state.documents.v1.Documents";
  return { name: "state.documents", version: "1.0.0", grpc_service, methods };
}

/** gRPC handlers that run once the context of the call is proven to be for this very method. */
function handlers(definition, served, handshake, service) {
  const handler = (rpc, serve) => (call, answer) => {
    try {
      const context = verify(call.metadata, handshake);
      if (context.service !== service || context.method !== contractOf(rpc).name) {
        throw new Failure("unauthenticated", "the context was made for another method");
      }
      if (rpc.path.startsWith("/wuu.mesh.v1.Lifecycle/") && context.caller !== "wuu.mesh") {
        throw new Failure("unauthenticated", "only the router calls the lifecycle");
      }
      const response = serve(call.request);
      if (rpc.responseSerialize(response).length > MESSAGE_LIMIT) {
        throw new Failure("limit_exceeded", `the answer is larger than ${MESSAGE_LIMIT} bytes`);
      }
      answer(null, response);
    } catch (error) {
      answer(statusOf(error));
    }
  };
  return Object.fromEntries(
    Object.entries(served).map(([name, serve]) => [name, handler(definition[name], serve)]),
  );
}
