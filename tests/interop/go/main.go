// Command interop is both ends of the interop suite in Go, on google.golang.org/grpc and without generated code:
// `interop serve DECLARATION` is a provider, `interop call` a caller. See ../README.md for what each must do.
package main

import (
	"encoding/hex"
	"fmt"
	"log"
	"os"
)

const messageLimit = 64 << 20

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 2 && arguments[0] == "serve":
		declaration, err := hex.DecodeString(arguments[1])
		if err != nil {
			return err
		}
		return serve(declaration)
	case len(arguments) == 1 && arguments[0] == "call":
		return call()
	}
	return fmt.Errorf("usage: interop serve DECLARATION | interop call")
}
