// The store: documents, receipts and the revision, in memory.

import { createHash } from "node:crypto";
import { Failure } from "./errors.js";

/** UTF-8 order. JavaScript compares UTF-16, where U+1F600 comes before U+FF5E. */
export const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

export class Store {
  revision = "0";
  /** Receipts by transaction, in the order of their revisions. */
  receipts = new Map();
  /** Values by key, by namespace. */
  #namespaces = new Map();

  /** The documents of a namespace, in key order. They are sorted when they are read: this is no database. */
  documents(namespace) {
    const values = this.#namespaces.get(namespace) ?? new Map();
    const keys = [...values.keys()].sort(byBytes);
    return keys.map((key) => ({ namespace, key, value: { utf8: values.get(key) } }));
  }

  /** Every document, by namespace and key. */
  all() {
    return [...this.#namespaces.keys()].sort(byBytes).flatMap((namespace) => this.documents(namespace));
  }

  /** The receipt of a transaction, now or earlier. Nothing in here waits, so it is applied as a whole. */
  commit(transaction) {
    const { id, expected_revision, writes } = transaction;
    const digest = digestOf(transaction);
    const recorded = this.receipts.get(id);
    if (recorded !== undefined) {
      if (recorded.digest === digest) return recorded;
      const made = `transaction '${id}' made revision ${recorded.revision} with another intent`;
      throw new Failure("state_operation_conflict", made, { digest: recorded.digest });
    }
    this.expect(expected_revision);
    for (const { namespace, key, value } of writes) this.#write(namespace, key, value?.utf8);
    this.revision = String(BigInt(this.revision) + 1n);
    const receipt = { id, revision: this.revision, digest };
    this.receipts.set(id, receipt);
    return receipt;
  }

  /** `state_conflict` unless the store has this revision. */
  expect(revision) {
    if (revision === this.revision) return;
    const message = `the store is at revision ${this.revision}, not at ${revision}`;
    throw new Failure("state_conflict", message, { revision: this.revision });
  }

  #write(namespace, key, value) {
    const values = this.#namespaces.get(namespace) ?? new Map();
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    if (values.size > 0) this.#namespaces.set(namespace, values);
    else this.#namespaces.delete(namespace);
  }
}

/** See `Receipt.digest` in documents.proto. */
function digestOf({ id, expected_revision, writes }) {
  const digest = createHash("sha256");
  const add = (...parts) => {
    const field = Buffer.concat(parts.map((part) => Buffer.from(part)));
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(field.length));
    digest.update(length).update(field);
  };
  add(id);
  add(expected_revision);
  for (const { namespace, key, change, value } of writes) {
    add(namespace);
    add(key);
    if (change === "value") add("=", value.utf8);
    else add("-");
  }
  return digest.digest("hex");
}
