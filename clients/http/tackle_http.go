// SPDX-License-Identifier: MIT

// tackle over HTTP with nothing but Go's own library: go run tackle_http.go
//
// `tackle serve` must run; $TACKLE_HTTP is its address, $TACKLE_HTTP_TOKEN a token, if it needs one.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
)

// Fields are the arguments and options of a verb.
type Fields map[string]any

// Refused is an expected "no" (404, 409, 429) or an error.
type Refused struct {
	Status     int
	RetryAfter string `json:"-"` // seconds; "" if unknown
	Code       string `json:"error"`
	Message    string `json:"message"`
}

func (r *Refused) Error() string { return r.Message }

// IsNo says whether err is an expected "no": busy, empty, not found, limited.
func IsNo(err error) bool {
	var r *Refused
	return errors.As(err, &r) && (r.Status == 404 || r.Status == 409 || r.Status == 429)
}

// Call runs a verb, Call("queue/push", Fields{"name": "mails", "payload": "a"}, nil), and reads its
// answer into `answer`, unless that is nil.
func Call(verb string, fields Fields, answer any) error {
	base := os.Getenv("TACKLE_HTTP")
	if base == "" {
		base = "http://127.0.0.1:8480"
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	request, err := http.NewRequest("POST", base+"/v1/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if token := os.Getenv("TACKLE_HTTP_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refused := &Refused{Status: response.StatusCode, RetryAfter: response.Header.Get("Retry-After")}
		if err := json.NewDecoder(response.Body).Decode(refused); err != nil {
			refused.Message = response.Status
		}
		return refused
	}
	if answer == nil {
		answer = new(any)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// WithLock runs a function while a lock is held. The fence is a number that grows: storage can refuse
// smaller ones.
func WithLock(name string, work func(fence int64) error) (err error) {
	var held struct {
		Token string
		Fence int64
	}
	if err := Call("lock/acquire", Fields{"name": name, "wait": "30s", "lease": "30s"}, &held); err != nil {
		return err
	}
	defer func() {
		if e := Call("lock/release", Fields{"name": name, "token": held.Token}, nil); err == nil {
			err = e
		}
	}()
	return work(held.Fence)
}

// Work handles jobs until none comes. A job whose handler fails is tried again later.
func Work(queue, wait string, handle func(payload string) error) error {
	for {
		var job struct{ ID, Token, Payload string }
		err := Call("queue/claim", Fields{"name": queue, "wait": wait}, &job)
		if IsNo(err) {
			return nil
		} else if err != nil {
			return err
		}
		verb, report := "queue/ack", Fields{"name": queue, "id": job.ID, "token": job.Token}
		if err := handle(job.Payload); err != nil {
			verb, report["reason"] = "queue/fail", err.Error()
		}
		if err := Call(verb, report, nil); err != nil {
			return err
		}
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	must(WithLock("backup", func(fence int64) error {
		fmt.Println("holding the lock")
		return nil
	}))

	must(Call("queue/push", Fields{"name": "mails", "payload": []string{"ann@example.org", "bob@example.org"}}, nil))
	must(Work("mails", "100ms", func(payload string) error {
		fmt.Println("a mail to", payload)
		return nil
	}))

	for attempt := 1; attempt <= 3; attempt++ {
		var no *Refused
		err := Call("limit/check", Fields{"name": "api", "key": "ann", "rate": "2/h"}, nil)
		if errors.As(err, &no) && no.Status == 429 {
			fmt.Printf("call %d: limited, again in %s s\n", attempt, no.RetryAfter)
			continue
		}
		must(err)
		fmt.Printf("call %d: allowed\n", attempt)
	}

	must(Call("search/create", Fields{"index": "posts"}, nil))
	must(Call("search/add", Fields{"index": "posts", "id": "p1", "text": "fair locks on one server"}, nil))
	var found struct{ IDs []string }
	must(Call("search/query", Fields{"index": "posts", "query": "locks"}, &found))
	fmt.Println("found", found.IDs[0])
	must(Call("search/drop", Fields{"index": "posts", "yes": true}, nil))
}
