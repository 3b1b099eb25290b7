// The settings and the opaque state of plugins: state.plugin-settings@1, as a plugin.

import { createInterface } from "node:readline";
import { Failure, Shelf } from "./shelf.js";

const SERVICE = "state.plugin-settings";
const READS = ["read", "read-state"];

const schemas = (name) => ({
  input_schema: `${SERVICE}.${name}.input.v1`,
  output_schema: `${SERVICE}.${name}.output.v1`,
});

const DECLARATION = {
  protocol_version: 3,
  lifecycle_version: 2,
  provided_services: [
    {
      name: SERVICE,
      version: "1.0.0",
      methods: [...READS, "update", "update-state"].map((name) => ({
        name,
        ...schemas(name),
        preparation: READS.includes(name),
      })),
    },
  ],
};

let shelf;

/** The result of a request of the host. */
function serve(method, params) {
  switch (method) {
    case "initialize":
      shelf = new Shelf(params.workspace_state_dir);
      return DECLARATION;
    case "prepare":
    case "activate":
    case "shutdown":
      return null;
    case "service.invoke":
      return invoke(params.method, params.params ?? {});
    default:
      throw new Failure("method_not_found", `this plugin does not serve ${method}`);
  }
}

function invoke(method, params) {
  const kind = method.endsWith("-state") ? "state" : "settings";
  check(typeof params.subject === "string", "/subject: must be a string");
  check(["user", "workspace"].includes(params.scope), '/scope: must be "user" or "workspace"');
  if (READS.includes(method)) return shelf.read(kind, params);
  const { expected_revision, values, fingerprint = "" } = params;
  check(typeof expected_revision === "string", "/expected_revision: must be a string");
  check(values?.constructor === Object, "/values: must be an object");
  return shelf.replace(kind, params, expected_revision, { values, fingerprint });
}

function check(holds, message) {
  if (!holds) throw new Failure("invalid_params", message);
}

function answer({ id, method, params }) {
  // Every answer is given at once, so there is never anything left to cancel.
  if (method === "execution.cancel") return;
  try {
    send({ id, result: serve(method, params) });
  } catch (error) {
    const code = error instanceof Failure ? error.code : "host_error";
    send({ id, error: { code, message: error.message } });
  }
}

const send = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`);

createInterface({ input: process.stdin }).on("line", (line) => answer(JSON.parse(line)));
