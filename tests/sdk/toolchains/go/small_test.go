package small

import (
	"os/user"
	"sync"
	"testing"

	"example.org/words"
)

func TestADependency(t *testing.T) {
	if n := words.Count("one two"); n != 2 {
		t.Fatal(n)
	}
}

func TestWhoItIs(t *testing.T) {
	me, err := user.Current()
	if err != nil || me.Username != "agent" || me.HomeDir != "/home/agent" {
		t.Fatal(me, err)
	}
}

func TestMany(t *testing.T) {
	var group sync.WaitGroup
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func() { defer group.Done() }()
	}
	group.Wait()
}
