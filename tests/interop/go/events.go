package main

import "sync"

// events have happened or not, by name. The zero value is ready.
type events struct {
	mutex sync.Mutex
	named map[string]*event
}

type event struct {
	count    int
	happened chan struct{}
}

// of is closed once the event has happened.
func (all *events) of(name string) <-chan struct{} {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	return all.get(name).happened
}

// count counts one towards an event that happens with the wanted one.
func (all *events) count(name string, wanted int) <-chan struct{} {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	counted := all.get(name)
	counted.count++
	if counted.count == wanted {
		close(counted.happened)
	}
	return counted.happened
}

func (all *events) get(name string) *event {
	if all.named == nil {
		all.named = map[string]*event{}
	}
	if all.named[name] == nil {
		all.named[name] = &event{happened: make(chan struct{})}
	}
	return all.named[name]
}
