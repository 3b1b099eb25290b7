// The service: what each rpc of wuu.state.documents.v1.Documents does to the store.

import { Failure } from "./errors.js";
import { byBytes } from "./store.js";

const NAMESPACE_OWNERS = "wuu.state.namespace_owners.v1";
const REVISION = /^(0|[1-9][0-9]*)$/;

/** The rpcs that this provider serves: those that are not optional. */
export const documents = (store) => ({
  Read(query) {
    checkName(query.namespace, "/namespace", 1024);
    const { limit } = query;
    if (limit < 0 || limit > 10_000) throw invalid("/limit", `must be from 0 to 10000, not ${limit}`);
    query.keys?.keys.forEach((key, index) => checkName(key, `/keys/${index}`, 4096));
    if (query.at_revision !== undefined) {
      checkRevision(query.at_revision, "/at_revision");
      store.expect(query.at_revision);
    }
    const selected = store.documents(query.namespace).filter(({ key }) => satisfies(key, query));
    if (query.reverse) selected.reverse();
    const page = limit ? selected.slice(0, limit) : selected;
    const next_cursor = page.length < selected.length ? page.at(-1).key : undefined;
    return { documents: page, revision: store.revision, next_cursor };
  },

  Commit(transaction) {
    checkName(transaction.id, "/id", 256);
    checkRevision(transaction.expected_revision, "/expected_revision");
    if (transaction.writes.length === 0) throw invalid("/writes", "at least one write");
    const first = new Map();
    transaction.writes.forEach((write, index) => {
      const at = `/writes/${index}`;
      checkWrite(write, at);
      const document = JSON.stringify([write.namespace, write.key]);
      if (first.has(document)) throw invalid(at, `writes the same document as ${first.get(document)}`);
      first.set(document, at);
    });
    return store.commit(transaction);
  },

  Export({ page }) {
    if (page) throw new Failure("invalid_request", "/page: this provider does not declare paged_export");
    return { revision: store.revision, documents: store.all(), receipts: [...store.receipts.values()] };
  },
});

/** Whether a key satisfies every condition of the query. */
function satisfies(key, { prefix, keys, start, end, cursor, reverse }) {
  if (prefix !== undefined && !key.startsWith(prefix)) return false;
  if (keys && !keys.keys.includes(key)) return false;
  if (start !== undefined && byBytes(key, start) < 0) return false;
  if (end !== undefined && byBytes(key, end) >= 0) return false;
  if (cursor === undefined) return true;
  return reverse ? byBytes(key, cursor) < 0 : byBytes(key, cursor) > 0;
}

function checkWrite(write, at) {
  checkName(write.namespace, `${at}/namespace`, 1024);
  checkName(write.key, `${at}/key`, 4096);
  if (write.namespace === NAMESPACE_OWNERS) {
    const pointer = `${at}/namespace`;
    const message = `${pointer}: '${NAMESPACE_OWNERS}' is reserved; no commit writes it`;
    throw new Failure("namespace_ownership", message, { pointer });
  }
  if (write.change === "value") checkJson(write.value.utf8, `${at}/value`);
  else if (!write.delete) throw invalid(at, "must have a value, or delete: true");
}

function checkName(text, pointer, limit) {
  if (text === "") throw invalid(pointer, "must not be empty");
  if (text.includes("\0")) throw invalid(pointer, "must not contain NUL");
  const size = Buffer.byteLength(text);
  if (size > limit) throw invalid(pointer, `at most ${limit} bytes of UTF-8, not ${size}`);
}

function checkRevision(text, pointer) {
  if (!REVISION.test(text)) throw invalid(pointer, "must be a decimal string without leading zeros");
}

function checkJson(bytes, pointer) {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw invalid(pointer, `not JSON: ${error.message.slice(0, 200)}`);
  }
}

const invalid = (pointer, rule) => new Failure("invalid_params", `${pointer}: ${rule}`, { pointer });
