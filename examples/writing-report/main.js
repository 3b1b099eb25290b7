// A tool that stands on two services: it has a text analysed by one and keeps what it learned in the other.

import { Failure, serve } from "./wire.js";

const NAMESPACE = "example.writing-report";
const ATTEMPTS = 5;

const DECLARATION = {
  protocol_version: 3,
  lifecycle_version: 2,
  required_services: [
    { name: "example.text.analysis", major_version: 1, required: true },
    { name: "state.documents", major_version: 1, required: true },
  ],
  tools: [
    {
      id: "report",
      description: "Report how long a text is, and add it to the totals of all reports.",
      input_schema: {
        type: "object",
        properties: { text: { type: "string", description: "The text to report on." } },
        required: ["text"],
        additionalProperties: false,
      },
      activity: {
        read_only: false,
        concurrency_safe: false,
        reason: "Adds to totals in state.documents.",
      },
    },
  ],
};

serve({
  initialize: () => DECLARATION,
  prepare: () => null,
  activate: () => null,
  "service.changed": () => null,
  shutdown: () => null,
  "tool.execute": report,
});

async function report({ tool_id, arguments: given, call_id }, execution) {
  if (tool_id !== "report") throw new Failure("method_not_found", `there is no tool ${tool_id}`);
  if (typeof given?.text !== "string") return say("`text` must be a string.", { is_error: true });
  const analysis = await execution.call("example.text.analysis", "analyze", { text: given.text });
  const totals = await count(analysis, call_id, execution);
  const { words, characters, longest } = analysis;
  return say(
    `${words} words, ${characters} characters, longest word: ${longest || "none"}. ` +
      `${totals.reports} reports so far, ${totals.words} words in all.`,
    { structured_content: { ...analysis, totals } },
  );
}

/** Adds a report to the totals, once however often its call is repeated, and returns the totals. */
async function count(analysis, call_id, execution) {
  const receipt = `report/${call_id}`;
  for (let attempt = 1; ; attempt += 1) {
    const query = { namespace: NAMESPACE, keys: ["totals", receipt] };
    const { documents, revision } = await execution.call("state.documents", "read", query);
    const found = new Map(documents.map(({ key, value }) => [key, value]));
    const before = found.get("totals") ?? { reports: 0, words: 0 };
    if (found.has(receipt)) return before;
    const totals = { reports: before.reports + 1, words: before.words + analysis.words };
    try {
      await execution.call("state.documents", "commit", {
        id: `${NAMESPACE}/${call_id}/${attempt}`,
        expected_revision: revision,
        writes: [
          { namespace: NAMESPACE, key: "totals", value: totals },
          { namespace: NAMESPACE, key: receipt, value: analysis },
        ],
      });
      return totals;
    } catch (error) {
      // This code alone says that nothing was written. After any other nobody knows, and whoever repeats the
      // call finds the receipt if it was.
      if (error.code !== "state_conflict" || attempt === ATTEMPTS) throw error;
    }
  }
}

const say = (text, more) => ({ result: { content: [{ type: "text", text }], ...more } });
