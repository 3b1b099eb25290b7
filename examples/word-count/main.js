// A stateless service: text in, numbers out. Speaks the JSON-lines wire by hand.

import { createInterface } from "node:readline";

const DECLARATION = {
  protocol_version: 3,
  lifecycle_version: 2,
  provided_services: [
    {
      name: "example.text.analysis",
      version: "1.0.0",
      methods: [
        {
          name: "analyze",
          input_schema: "example.text.analysis.analyze.input.v1",
          output_schema: "example.text.analysis.analyze.output.v1",
        },
      ],
    },
  ],
};

/** `{text}` → `{words, characters, longest}`; `characters` counts code points. */
function analyze({ text }) {
  if (typeof text !== "string") throw new Failure("invalid_params", "/text: must be a string");
  const words = text.match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? [];
  const longest = words.reduce((most, word) => (length(word) > length(most) ? word : most), "");
  return { words: words.length, characters: length(text), longest };
}

const length = (text) => [...text].length;

/** A failure that the caller sees, code and message. */
class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** The result of a request of the host. */
function serve(method, params) {
  switch (method) {
    case "initialize":
      return DECLARATION;
    case "prepare":
    case "activate":
    case "shutdown":
      return null;
    case "service.invoke":
      if (params.method === "analyze") return analyze(params.params ?? {});
      throw new Failure("method_not_found", `${params.service} has no method ${params.method}`);
    default:
      throw new Failure("method_not_found", `this plugin does not serve ${method}`);
  }
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

// The program ends by itself when standard input does.
createInterface({ input: process.stdin }).on("line", (line) => answer(JSON.parse(line)));
