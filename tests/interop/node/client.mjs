// The caller of the interop suite in Node. ../README.md says what it reads and writes.

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { Client, compressionAlgorithms, credentials } from "@grpc/grpc-js";
import { listed, unlisted } from "./metadata.mjs";
import { MESSAGE_LIMIT, Wire } from "./wire.mjs";

const options = {
  "grpc.max_receive_message_length": MESSAGE_LIMIT,
  "grpc.max_send_message_length": MESSAGE_LIMIT,
  "grpc.enable_retries": 0,
};

const calls = new Map();
let plain, pressing, token;

const lines = createInterface({ input: process.stdin });
lines.once("line", (first) => {
  const router = JSON.parse(first);
  token = router.token;
  plain = new Client(router.target, credentials.createInsecure(), options);
  // Whether requests are compressed is an option of the channel, not of the call.
  const gzip = { ...options, "grpc.default_compression_algorithm": compressionAlgorithms.gzip };
  pressing = new Client(router.target, credentials.createInsecure(), gzip);
  lines.on("line", (line) => obey(JSON.parse(line)));
});
lines.once("close", () => process.exit());

function obey(order) {
  if (order.cancel) calls.get(order.cancel)?.cancel();
  else make(order);
}

function make({ id, service, rpc, requests, repeat, metadata, timeout_ms, gzip }) {
  const { path, requestStream, responseStream, requestSerialize, responseDeserialize } = Wire[rpc];
  const sent = requests.map((request) => repeated(Buffer.from(request, "base64"), repeat));
  const said = unlisted([...metadata, ["wuu-token", token], ["wuu-service", service]]);
  const within = timeout_ms ? { deadline: Date.now() + timeout_ms } : {};
  const start = [path, requestSerialize, responseDeserialize];
  const client = gzip ? pressing : plain;

  const answers = [];
  const take = (answer) => answers.push(reported(answer));
  const unary = (_error, answer) => answer === undefined || take(answer);

  let call;
  if (requestStream && responseStream) call = client.makeBidiStreamRequest(...start, said, within);
  else if (requestStream) call = client.makeClientStreamRequest(...start, said, within, unary);
  else if (responseStream) call = client.makeServerStreamRequest(...start, sent[0], said, within);
  else call = client.makeUnaryRequest(...start, sent[0], said, within, unary);
  calls.set(id, call);
  if (responseStream) {
    call.on("data", take);
    call.on("error", () => {}); // the status tells
  }
  report(id, call, answers, responseStream);

  if (requestStream && responseStream) converse(call, sent);
  else if (requestStream) {
    for (const request of sent) call.write(request);
    call.end();
  }
}

/** Writes what the call came to, once it has its status and, of a stream, every answer was taken. */
async function report(id, call, answers, responseStream) {
  let initial;
  call.on("metadata", (received) => (initial = received));
  const drained = responseStream && new Promise((resolve) => call.once("end", resolve));
  const status = new Promise((resolve) => call.once("status", resolve));
  const { code, details, metadata } = await status;
  await drained;
  calls.delete(id);
  const outcome = { id, code, message: details, initial: listed(initial), trailing: listed(metadata), answers };
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}

/** Sends each request once the one before is answered. */
function converse(call, requests) {
  const [first, ...rest] = requests;
  if (first === undefined) {
    call.end();
    return;
  }
  call.write(first);
  call.once("data", () => converse(call, rest));
}

const repeated = (bytes, times) => (times === 1 ? bytes : Buffer.alloc(bytes.length * times, bytes));

/** An answer as it is reported: in base64, or its digest where it is large. */
const reported = (answer) =>
  answer.length <= 64 * 1024 ? answer.toString("base64") : `sha256:${createHash("sha256").update(answer).digest("hex")}`;
