package main

import (
	"encoding/base64"
	"strings"

	"google.golang.org/grpc/metadata"
)

// listed is metadata as JSON carries it: pairs, with base64 for the values of keys that end in -bin.
func listed(md metadata.MD) [][2]string {
	pairs := [][2]string{}
	for key, values := range md {
		for _, value := range values {
			if strings.HasSuffix(key, "-bin") {
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			pairs = append(pairs, [2]string{key, value})
		}
	}
	return pairs
}

// unlisted is the opposite of listed.
func unlisted(pairs [][2]string) (metadata.MD, error) {
	md := metadata.MD{}
	for _, pair := range pairs {
		key, value := pair[0], pair[1]
		if strings.HasSuffix(key, "-bin") {
			decoded, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, err
			}
			value = string(decoded)
		}
		md.Append(key, value)
	}
	return md, nil
}
