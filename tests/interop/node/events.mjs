// Events that have happened or not, by name.

export class Events {
  #named = new Map();

  /** Resolves once the event has happened. */
  of(name) {
    return this.#get(name).happened;
  }

  /** Counts one towards an event that happens with the wanted one. */
  count(name, wanted = 1) {
    const event = this.#get(name);
    event.counted += 1;
    if (event.counted === wanted) event.happen();
    return event.happened;
  }

  #get(name) {
    if (!this.#named.has(name)) {
      const event = { counted: 0 };
      event.happened = new Promise((resolve) => (event.happen = resolve));
      this.#named.set(name, event);
    }
    return this.#named.get(name);
  }
}
