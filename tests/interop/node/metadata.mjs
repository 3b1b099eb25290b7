// Metadata as JSON carries it: pairs, with base64 for the values of keys that end in -bin.

import { Metadata } from "@grpc/grpc-js";

const isBinary = (key) => key.endsWith("-bin");

export const listed = (metadata) =>
  Object.keys(metadata?.getMap() ?? {}).flatMap((key) =>
    metadata.get(key).map((value) => [key, isBinary(key) ? value.toString("base64") : value]),
  );

export function unlisted(pairs) {
  const metadata = new Metadata();
  for (const [key, value] of pairs) metadata.add(key, isBinary(key) ? Buffer.from(value, "base64") : value);
  return metadata;
}
