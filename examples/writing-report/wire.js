// The JSON-lines wire from a plugin's side: requests both ways at once, and cancellation.

import { createInterface } from "node:readline";

/** A failure with a code, as it goes over the wire in either direction. */
export class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** What the host asked of us and we have not answered. */
const executions = new Set();
/** What we asked of the host and it has not answered, by id. */
const asked = new Map();
let last = 0;

/** Serves the host until standard input ends. Each method has a handler `(params, execution) → result`. */
export function serve(handlers) {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const frame = JSON.parse(line);
    if (frame.method === undefined) settle(frame);
    else if (frame.method === "execution.cancel") cancel(frame.params.execution_id);
    else answer(handlers[frame.method], frame);
  });
}

async function answer(handler, { id, method, params = {} }) {
  const execution = new Execution(params.execution_id);
  executions.add(execution);
  try {
    if (handler === undefined) throw new Failure("method_not_found", `this plugin does not serve ${method}`);
    send({ id, result: await handler(params, execution) });
  } catch (error) {
    const code = error instanceof Failure ? error.code : "host_error";
    send({ id, error: { code, message: error.message } });
  } finally {
    executions.delete(execution);
  }
}

function cancel(id) {
  for (const execution of executions) if (execution.id === id) execution.cancel();
}

function settle({ id, result, error }) {
  // What was cancelled is not waited for any more, and its late answer is ignored.
  const waiting = asked.get(id);
  asked.delete(id);
  if (error === undefined) waiting?.resolve(result);
  else waiting?.reject(new Failure(error.code ?? "host_error", error.message));
}

/** The scope of one request of the host: what is called in it is called on its behalf and ends with it. */
class Execution {
  #calls = new AbortController();

  constructor(id) {
    this.id = id;
  }

  /** Calls a service that we declared in `required_services`. Rejects with `Failure`. */
  call(service, method, params) {
    const { signal } = this.#calls;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const id = `plugin-${(last += 1)}`;
      asked.set(id, { resolve, reject });
      signal.addEventListener("abort", () => {
        asked.delete(id);
        reject(signal.reason);
      });
      send({ id, method: "host.service.call", params: { service, method, execution_id: this.id, params } });
    });
  }

  cancel() {
    this.#calls.abort(new Failure("execution_cancelled", "the execution was cancelled"));
  }
}

const send = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`);
