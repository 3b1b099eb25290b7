// The provider of the interop suite in Node: `node server.mjs DECLARATION`. ../README.md says what it must do.

import { createInterface } from "node:readline";
import { Metadata, Server, ServerCredentials } from "@grpc/grpc-js";
import { Events } from "./events.mjs";
import { listed } from "./metadata.mjs";
import { definition, MESSAGE_LIMIT, Wire } from "./wire.mjs";

const declaration = Buffer.from(process.argv[2], "hex");
const SERVING = Buffer.from([8, 1]); // HealthCheckResponse{status: SERVING}
const NOTHING = Buffer.alloc(0);

const events = new Events();

const server = new Server({
  "grpc.max_receive_message_length": MESSAGE_LIMIT,
  "grpc.max_send_message_length": MESSAGE_LIMIT,
});

const lifeline = createInterface({ input: process.stdin });
lifeline.once("line", (line) => start(JSON.parse(line)));
lifeline.once("close", () => process.exit());

function start({ listen }) {
  const health = definition("grpc.health.v1.Health", ["Check"]);
  const steps = ["Initialize", "Prepare", "Activate", "ServiceChanged", "Shutdown"];
  const lifecycle = definition("wuu.mesh.v1.Lifecycle", steps);
  const agreed = Object.fromEntries(steps.map((step) => [step, (_call, answer) => answer(null, NOTHING)]));
  server.addService(health, { Check: (_call, answer) => answer(null, SERVING) });
  server.addService(lifecycle, { ...agreed, Initialize: (_call, answer) => answer(null, declaration) });
  server.addService(Wire, wire);
  server.bindAsync(`unix:${listen}`, ServerCredentials.createInsecure(), (error) => {
    if (error) throw error;
  });
}

const echo = (call, answer) => answer(null, call.request);

const wire = {
  Unary: echo,
  // A server of this library compresses nothing: what it is asked for here, it need not do.
  Press: echo,

  Gather(call, answer) {
    const all = [];
    call.on("data", (request) => all.push(request));
    call.on("end", () => answer(null, Buffer.concat(all)));
  },

  First(call, answer) {
    call.once("data", (request) => answer(null, Buffer.from(String(request.length))));
  },

  async Scatter(call) {
    for (const single of call.request) {
      if (!call.write(Buffer.from([single]))) await new Promise((resolve) => call.once("drain", resolve));
    }
    call.end();
  },

  Both(call) {
    call.pipe(call);
  },

  Fail: (call, answer) => answer(failure(call.request)),

  Break(call) {
    call.write(call.request);
    call.emit("error", failure(call.request));
  },

  See(call, answer) {
    const initial = new Metadata();
    initial.set("x-initial", "before");
    initial.set("x-initial-bin", Buffer.from([0x00, 0xff]));
    call.sendMetadata(initial);
    const trailing = new Metadata();
    trailing.set("x-trailing", "behind");
    trailing.set("x-trailing-bin", Buffer.from([0xff, 0x00]));
    const deadline = Number(call.getDeadline());
    const timeout_ms = Number.isFinite(deadline) ? deadline - Date.now() : null;
    const seen = { metadata: listed(call.metadata), timeout_ms };
    answer(null, Buffer.from(JSON.stringify(seen)), trailing);
  },

  Hang: (call) => hang(call, call.request.toString()),

  Linger(call) {
    call.once("data", (key) => {
      call.write(key);
      hang(call, key.toString());
    });
  },

  async Watch(call, answer) {
    await events.of(call.request.toString());
    answer(null, call.request);
  },

  async Meet(call, answer) {
    const { key, count } = JSON.parse(call.request);
    await events.count(key, count);
    answer(null, call.request);
  },
};

function hang(call, key) {
  call.once("cancelled", () => events.count(`ended ${key}`));
  events.count(`started ${key}`);
}

function failure(request) {
  const { code, message, details } = JSON.parse(request);
  const metadata = new Metadata();
  metadata.set("x-trailing", "behind");
  if (details) metadata.set("grpc-status-details-bin", Buffer.from(details, "base64"));
  return { code, details: message, metadata };
}
