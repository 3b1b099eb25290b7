"""HTTP/2 as far as a relay of gRPC terminates it. Source: RFC 9113 and RFC 7541."""
