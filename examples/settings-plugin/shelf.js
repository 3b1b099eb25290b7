// Where settings are kept: a file for each revision, so that no two writers ever make the same one.

import { createHash } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A failure that the caller sees, code and message. */
export class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export class Shelf {
  #root;

  constructor(root) {
    this.#root = root;
  }

  /** The newest revision, "0" where nothing was written, and what it holds. */
  read(kind, target) {
    const place = this.#place(kind, target);
    const revision = newest(place);
    const file = join(place, `${revision}.json`);
    const record = revision ? JSON.parse(readFileSync(file)) : { values: {}, fingerprint: "" };
    const found = { revision: `${revision}`, values: record.values };
    return kind === "state" ? found : { ...found, fingerprint: record.fingerprint };
  }

  /** Writes what follows the expected revision, and returns its number. */
  replace(kind, target, expected, record) {
    const place = this.#place(kind, target);
    const present = newest(place);
    if (expected !== `${present}`) {
      const message = `${target.subject} is at revision ${present}, not at ${expected}`;
      throw new Failure("settings_conflict", message);
    }
    mkdirSync(place, { recursive: true });
    const written = join(place, `.${process.pid}`);
    writeFileSync(written, JSON.stringify(record), { flush: true });
    try {
      // Two writers may have come this far; a file of that name is made once.
      linkSync(written, join(place, `${present + 1}.json`));
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      throw new Failure("settings_conflict", `${target.subject} was written meanwhile`);
    } finally {
      rmSync(written);
    }
    return { revision: `${present + 1}` };
  }

  #place(kind, { scope, subject }) {
    return join(this.#root, kind, scope, createHash("sha256").update(subject).digest("hex"));
  }
}

function newest(place) {
  if (!existsSync(place)) return 0;
  const revisions = readdirSync(place).flatMap((name) => name.match(/^(\d+)\.json$/)?.[1] ?? []);
  return Math.max(0, ...revisions.map(Number));
}
