// The signed context: what the router vouches for about one call.

import { createHmac, timingSafeEqual } from "node:crypto";
import { Failure } from "./errors.js";
import { CallContext, SignedContext } from "./protos.js";

/** The context of a call for this instance, once it is proven; `unauthenticated` otherwise. */
export function verify(metadata, { instance, key }) {
  const [signed] = metadata.get("wuu-context-bin");
  if (signed === undefined) throw unauthenticated("the call carries no wuu-context-bin");
  const envelope = read(SignedContext, signed);
  const expected = createHmac("sha256", Buffer.from(key, "hex")).update(envelope.context).digest();
  const given = envelope.hmac_sha256 ?? Buffer.alloc(0);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw unauthenticated("the signature of the context is wrong");
  }
  const context = read(CallContext, envelope.context);
  if (context.audience !== instance) throw unauthenticated("the context was made for another instance");
  if (context.expires_unix_ms < Date.now()) throw unauthenticated("the context has expired");
  return context;
}

function read(message, bytes) {
  try {
    return message.deserialize(bytes);
  } catch {
    throw unauthenticated("the context cannot be read");
  }
}

const unauthenticated = (why) => new Failure("unauthenticated", why);
