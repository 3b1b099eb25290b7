package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

type provider struct {
	declaration []byte
	events      events
}

// serve is a whole provider: the handshake, the socket, and the lifeline that ends it.
func serve(declaration []byte) error {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no handshake on standard input: %w", err)
	}
	var handshake struct{ Listen string }
	if err := json.Unmarshal(line, &handshake); err != nil {
		return err
	}
	listener, err := net.Listen("unix", handshake.Listen)
	if err != nil {
		return err
	}
	server := grpc.NewServer(
		grpc.ForceServerCodec(raw{}),
		grpc.MaxRecvMsgSize(messageLimit),
		grpc.MaxSendMsgSize(messageLimit),
		grpc.UnknownServiceHandler((&provider{declaration: declaration}).handle),
	)
	go func() {
		_, _ = io.Copy(io.Discard, input)
		server.Stop()
	}()
	return server.Serve(listener)
}

// handle serves every call: no service is registered, since none was generated.
func (p *provider) handle(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	service, rpc, _ := strings.Cut(path[1:], "/")
	switch service {
	case "grpc.health.v1.Health":
		return unary(stream, []byte{8, 1}) // HealthCheckResponse{status: SERVING}
	case "wuu.mesh.v1.Lifecycle":
		if rpc == "Initialize" {
			return unary(stream, p.declaration)
		}
		return unary(stream, nil)
	case "interop.v1.Wire":
		return p.wire(rpc, stream)
	}
	return status.Errorf(codes.Unimplemented, "there is no %s", path)
}

func (p *provider) wire(rpc string, stream grpc.ServerStream) error {
	switch rpc {
	case "Both":
		return answerEach(stream)
	case "Gather":
		return gather(stream)
	case "Linger":
		return p.linger(stream)
	}
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	ctx := stream.Context()
	switch rpc {
	case "Unary":
	case "First":
		request = strconv.AppendInt(nil, int64(len(request)), 10)
	case "Press":
		if err := grpc.SetSendCompressor(ctx, "gzip"); err != nil {
			return err
		}
	case "Scatter":
		return scatter(request, stream)
	case "Fail":
		return failure(request, stream)
	case "Break":
		if err := stream.SendMsg(&request); err != nil {
			return err
		}
		return failure(request, stream)
	case "See":
		return see(stream)
	case "Hang":
		return p.hang(string(request), ctx)
	case "Watch":
		if err := reached(ctx, p.events.of(string(request))); err != nil {
			return err
		}
	case "Meet":
		if err := p.meet(request, ctx); err != nil {
			return err
		}
	default:
		return status.Errorf(codes.Unimplemented, "there is no %s", rpc)
	}
	return stream.SendMsg(&request)
}

func unary(stream grpc.ServerStream, answer []byte) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

func answerEach(stream grpc.ServerStream) error {
	for {
		var request []byte
		if err := stream.RecvMsg(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(&request); err != nil {
			return err
		}
	}
}

func gather(stream grpc.ServerStream) error {
	var all bytes.Buffer
	for {
		var request []byte
		if err := stream.RecvMsg(&request); errors.Is(err, io.EOF) {
			gathered := all.Bytes()
			return stream.SendMsg(&gathered)
		} else if err != nil {
			return err
		}
		all.Write(request)
	}
}

func scatter(request []byte, stream grpc.ServerStream) error {
	for _, single := range request {
		if err := stream.SendMsg(&[]byte{single}); err != nil {
			return err
		}
	}
	return nil
}

func failure(request []byte, stream grpc.ServerStream) error {
	var asked struct {
		Code    codes.Code
		Message string
		Details []byte
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return err
	}
	stream.SetTrailer(metadata.Pairs("x-trailing", "behind"))
	if len(asked.Details) == 0 {
		return status.Error(asked.Code, asked.Message)
	}
	var details spb.Status
	if err := proto.Unmarshal(asked.Details, &details); err != nil {
		return err
	}
	return status.FromProto(&details).Err()
}

func see(stream grpc.ServerStream) error {
	seen := struct {
		Metadata  [][2]string `json:"metadata"`
		TimeoutMs *int64      `json:"timeout_ms"`
	}{}
	md, _ := metadata.FromIncomingContext(stream.Context())
	seen.Metadata = listed(md)
	if deadline, ok := stream.Context().Deadline(); ok {
		left := time.Until(deadline).Milliseconds()
		seen.TimeoutMs = &left
	}
	if err := stream.SendHeader(metadata.Pairs("x-initial", "before", "x-initial-bin", "\x00\xff")); err != nil {
		return err
	}
	stream.SetTrailer(metadata.Pairs("x-trailing", "behind", "x-trailing-bin", "\xff\x00"))
	answer, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

func (p *provider) hang(key string, ctx context.Context) error {
	p.events.count("started "+key, 1)
	<-ctx.Done()
	p.events.count("ended "+key, 1)
	return status.FromContextError(ctx.Err()).Err()
}

func (p *provider) linger(stream grpc.ServerStream) error {
	var key []byte
	if err := stream.RecvMsg(&key); err != nil {
		return err
	}
	if err := stream.SendMsg(&key); err != nil {
		return err
	}
	return p.hang(string(key), stream.Context())
}

func (p *provider) meet(request []byte, ctx context.Context) error {
	var asked struct {
		Key   string
		Count int
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return err
	}
	return reached(ctx, p.events.count(asked.Key, asked.Count))
}

func reached(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
