// A plugin as its author would write it by hand: one service that counts words, one tool that asks another
// service. Lines end with \r\n here, which is as good.
import { createInterface } from "node:readline";

const pending = new Map();
let last = 0;

const write = (frame) => process.stdout.write(JSON.stringify(frame) + "\r\n");

function call(service, method, params, execution_id) {
  const id = `plugin-${++last}`;
  write({ id, method: "host.service.call", params: { service, method, execution_id, params } });
  return new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
}

const handlers = {
  initialize: async (params) => ({
    protocol_version: 3,
    lifecycle_version: params.lifecycle_version,
    provided_services: [
      {
        name: "example.words",
        version: "1.0.0",
        methods: [
          { name: "count", input_schema: "example.words.input.v1", output_schema: "example.words.output.v1" },
        ],
      },
    ],
    required_services: [{ name: "test.other", major_version: 1, required: true }],
    tools: [
      { id: "report", description: "Reports.", input_schema: { type: "object" }, execution_scopes: ["root"] },
    ],
  }),
  prepare: async () => null,
  activate: async () => null,
  shutdown: async () => null,
  "service.invoke": async ({ params }) => ({ words: params.text.split(/\s+/u).length }),
  "tool.execute": async ({ execution_id, arguments: given }) => {
    const answer = await call("test.other", "ask", given, execution_id);
    return { result: { content: [{ type: "text", text: JSON.stringify(answer) }] } };
  },
};

process.stderr.write("words: ready\n");

for await (const line of createInterface({ input: process.stdin })) {
  const frame = JSON.parse(line);
  if (frame.method === undefined) {
    const { resolve, reject } = pending.get(frame.id);
    pending.delete(frame.id);
    frame.error ? reject(new Error(frame.error.message)) : resolve(frame.result);
  } else if (frame.method in handlers) {
    handlers[frame.method](frame.params).then(
      (result) => write({ id: frame.id, result }),
      (error) => write({ id: frame.id, error: { message: error.message } }),
    );
  }
}
