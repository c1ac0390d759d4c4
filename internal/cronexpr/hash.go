package cronexpr

import "strings"

// hashDays: H in the day field keeps to the days that every month has, as in
// Jenkins (https://www.jenkins.io/doc/book/pipeline/syntax/#cron-syntax).
const hashDays = 28

// hash reads H, H/n, H(a-b) and H(a-b)/n. Without a step it is one value of the
// range, chosen by the seed; with a step n the seed chooses among the first n
// values, and every n-th after it is in the set.
func (r *reader) hash(w word) *Error {
	f := r.f
	from, to := f.min, f.max
	if f.unit == day {
		to = hashDays
	}
	rest := word{w.text[1:], w.column + 1}
	r.buf = append(r.buf, 'H')
	if strings.HasPrefix(rest.text, "(") {
		inner, after, closed := strings.Cut(rest.text[1:], ")")
		if !closed {
			return r.badHash(w, "%s lacks the closing parenthesis", shown(w.text))
		}
		var err *Error
		if from, to, err = r.hashRange(word{inner, rest.column + 1}, w); err != nil {
			return err
		}
		r.buf = append(f.text(append(r.buf, '('), from), '-')
		r.buf = append(f.text(r.buf, to), ')')
		rest = word{after, rest.column + len(inner) + 2}
	}
	r.e.hashed = true
	h := hashOf(r.seed, unitNames[f.unit])
	size := to - from + 1
	if rest.text == "" {
		r.e.add(f.unit, 1<<f.bit(from+int(h%uint64(size))))
		return nil
	}
	if rest.text[0] != '/' {
		return r.badHash(w, "%s is no form of H", shown(w.text))
	}
	step, err := r.step(word{rest.text[1:], rest.column + 1})
	if err != nil {
		return err
	}
	r.suffix(true, step)
	for v := from + int(h%uint64(min(step, size))); v <= to; v += step {
		r.e.add(f.unit, 1<<f.bit(v))
	}
	return nil
}

// hashRange reads what stands in the parentheses.
func (r *reader) hashRange(inner, whole word) (from, to int, err *Error) {
	fromText, toText, ranged := strings.Cut(inner.text, "-")
	if !ranged {
		return 0, 0, r.badHash(inner, "%s holds no range", shown(whole.text))
	}
	if from, err = r.value(word{fromText, inner.column}, whole); err != nil {
		return 0, 0, err
	}
	end := word{toText, inner.column + len(fromText) + 1}
	if to, err = r.value(end, whole); err != nil {
		return 0, 0, err
	}
	switch {
	case to > r.f.max: // the second Sunday
		return 0, 0, r.badHash(end, "in a range of H the highest value is %s", r.f.spell(r.f.max))
	case from > to:
		return 0, 0, r.badHash(inner, "the range %s runs backwards", shown(inner.text))
	}
	return from, to, nil
}

func (r *reader) badHash(w word, format string, args ...any) *Error {
	fault := r.fault(w, format, args...)
	fault.Accepted = "H, H/n, H(a-b), H(a-b)/n"
	return fault
}

// hashOf mixes a seed and the name of a field: FNV-1a, 64 bits
// (http://www.isthe.com/chongo/tech/comp/fnv/), and the last step of splitmix64
// (https://prng.di.unimi.it/splitmix64.c), since FNV alone hardly moves the high
// bits for the last bytes. Stored jobs depend on it: it must not change.
func hashOf(seed, name string) uint64 {
	h := uint64(14695981039346656037)
	for _, text := range [...]string{seed, "\x00", name} {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * 1099511628211
		}
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
