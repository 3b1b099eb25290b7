package main

import "fmt"

// raw is a codec that leaves every message as it is. Messages are *[]byte.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(message any) ([]byte, error) {
	bytes, ok := message.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("a message is *[]byte, not %T", message)
	}
	return *bytes, nil
}

func (raw) Unmarshal(data []byte, message any) error {
	bytes, ok := message.(*[]byte)
	if !ok {
		return fmt.Errorf("a message is *[]byte, not %T", message)
	}
	// The buffer of the transport is used again once this returns.
	*bytes = append([]byte(nil), data...)
	return nil
}
