package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// An order is one line on standard input: a call to make, or one to cancel.
type order struct {
	Cancel    int         `json:"cancel"`
	ID        int         `json:"id"`
	Service   string      `json:"service"`
	RPC       string      `json:"rpc"`
	Requests  [][]byte    `json:"requests"`
	Repeat    int         `json:"repeat"`
	Metadata  [][2]string `json:"metadata"`
	TimeoutMs int64       `json:"timeout_ms"`
	Gzip      bool        `json:"gzip"`
}

// An outcome is one line on standard output: what a call came to.
type outcome struct {
	ID       int         `json:"id"`
	Code     int         `json:"code"`
	Message  string      `json:"message"`
	Initial  [][2]string `json:"initial"`
	Trailing [][2]string `json:"trailing"`
	Answers  []string    `json:"answers"`
}

type caller struct {
	connection *grpc.ClientConn
	token      string
	mutex      sync.Mutex // of what follows
	output     *json.Encoder
	cancels    map[int]context.CancelFunc
}

// call makes the calls that standard input orders, all over one connection, until it ends.
func call() error {
	orders := json.NewDecoder(bufio.NewReader(os.Stdin))
	var router struct{ Target, Token string }
	if err := orders.Decode(&router); err != nil {
		return err
	}
	connection, err := grpc.NewClient(
		router.Target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodec(raw{}),
			grpc.MaxCallRecvMsgSize(messageLimit),
			grpc.MaxCallSendMsgSize(messageLimit),
		),
	)
	if err != nil {
		return err
	}
	defer connection.Close()
	c := &caller{
		connection: connection,
		token:      router.Token,
		output:     json.NewEncoder(os.Stdout),
		cancels:    map[int]context.CancelFunc{},
	}
	for {
		var ordered order
		if err := orders.Decode(&ordered); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if ordered.Cancel != 0 {
			c.mutex.Lock()
			if cancel := c.cancels[ordered.Cancel]; cancel != nil {
				cancel()
			}
			c.mutex.Unlock()
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		if ordered.TimeoutMs != 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(ordered.TimeoutMs)*time.Millisecond)
		}
		c.mutex.Lock()
		c.cancels[ordered.ID] = cancel
		c.mutex.Unlock()
		go c.carryOut(ctx, cancel, ordered)
	}
}

func (c *caller) carryOut(ctx context.Context, cancel context.CancelFunc, ordered order) {
	defer cancel()
	var initial, trailing metadata.MD
	answers := []string{}
	err := c.make(ctx, ordered, &initial, &trailing, func(answer []byte) {
		answers = append(answers, reported(answer))
	})
	ended := status.Convert(err)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.cancels, ordered.ID)
	_ = c.output.Encode(outcome{
		ID:       ordered.ID,
		Code:     int(ended.Code()),
		Message:  ended.Message(),
		Initial:  listed(initial),
		Trailing: listed(trailing),
		Answers:  answers,
	})
}

func (c *caller) make(
	ctx context.Context, ordered order, initial, trailing *metadata.MD, answered func([]byte),
) error {
	md, err := unlisted(ordered.Metadata)
	if err != nil {
		return err
	}
	md.Append("wuu-token", c.token)
	md.Append("wuu-service", ordered.Service)
	ctx = metadata.NewOutgoingContext(ctx, md)
	options := []grpc.CallOption{grpc.Header(initial), grpc.Trailer(trailing)}
	if ordered.Gzip {
		options = append(options, grpc.UseCompressor(gzip.Name))
	}
	path := "/interop.v1.Wire/" + ordered.RPC
	requests := [][]byte{}
	for _, request := range ordered.Requests {
		requests = append(requests, bytes.Repeat(request, ordered.Repeat))
	}
	shape := grpc.StreamDesc{
		ClientStreams: slices.Contains([]string{"Gather", "First", "Both", "Linger"}, ordered.RPC),
		ServerStreams: slices.Contains([]string{"Scatter", "Break", "Both", "Linger"}, ordered.RPC),
	}
	if !shape.ClientStreams && !shape.ServerStreams {
		var answer []byte
		if err := c.connection.Invoke(ctx, path, &requests[0], &answer, options...); err != nil {
			return err
		}
		answered(answer)
		return nil
	}
	stream, err := c.connection.NewStream(ctx, &shape, path, options...)
	if err != nil {
		return err
	}
	return converse(stream, shape, requests, answered)
}

// converse sends each request and takes in the answers: in turn where both sides stream.
func converse(stream grpc.ClientStream, shape grpc.StreamDesc, requests [][]byte, answered func([]byte)) error {
	take := func() error {
		var answer []byte
		err := stream.RecvMsg(&answer)
		if err == nil {
			answered(answer)
		}
		return err
	}
	for _, request := range requests {
		// Where the call has ended, io.EOF: the answers tell with what.
		if err := stream.SendMsg(&request); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if shape.ClientStreams && shape.ServerStreams {
			if err := take(); err != nil {
				return err
			}
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if !shape.ServerStreams {
		return take()
	}
	for {
		if err := take(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// reported is an answer as it is reported: in base64, or its digest where it is large.
func reported(answer []byte) string {
	if len(answer) <= 64<<10 {
		return base64.StdEncoding.EncodeToString(answer)
	}
	digest := sha256.Sum256(answer)
	return "sha256:" + hex.EncodeToString(digest[:])
}
