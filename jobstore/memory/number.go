package memory

// A numbered gives things numbers, from 1 on, so that rows can name them without a pointer. A number that was dropped is
// given again.
type numbered[T any] struct {
	list []*T // by number less 1; nil where it was dropped
	free []int32
}

func (n *numbered[T]) add(thing *T) int32 {
	if last := len(n.free) - 1; last >= 0 {
		number := n.free[last]
		n.free = n.free[:last]
		n.list[number-1] = thing
		return number
	}
	n.list = append(n.list, thing)
	return int32(len(n.list))
}

func (n *numbered[T]) get(number int32) *T { return n.list[number-1] }

func (n *numbered[T]) drop(number int32) {
	n.list[number-1] = nil
	n.free = append(n.free, number)
}

// historyAt is the history that a row is in.
func (s *Store) historyAt(r *run) *history { return s.byNumber.get(r.history) }

// lifeOf is the life that a row is of; nil: it never started.
func (s *Store) lifeOf(r *run) *life {
	if r.life == 0 {
		return nil
	}
	return s.named.get(r.life)
}

// give names the life in the row, which is of none or another yet.
func (s *Store) give(r *run, l *life) {
	if r.life != 0 {
		s.letGo(r.life)
	}
	if l.number == 0 {
		l.number = s.named.add(l)
	}
	l.rows++
	r.life = l.number
}

// letGo says that a row names the life no more.
func (s *Store) letGo(number int32) {
	l := s.named.get(number)
	if l.rows--; l.rows == 0 {
		s.named.drop(number)
		l.number = 0
	}
}
