package cronwords

import (
	"math/bits"
	"strconv"
)

var chineseDays = [7]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"}

const chineseWeekday = "工作日（周一至周五）"

// Chinese appends the phrase: "在每周一至周五的 02:30".
func (e *Expression) Chinese(b []byte) []byte {
	p := e.plan()
	before := len(b)
	b = e.chineseDate(append(b, "在"...))
	const intro = len("在")
	dated := len(b) > before+intro
	switch {
	case dated && (p.kind == byList || p.kind == byHash):
		b = append(b, "的"...)
		if p.kind == byList {
			b = append(b, ' ')
		}
	case dated && p.kind == byWindows:
		b = append(b, "的 "...)
	case dated:
		b = append(b, "，"...)
	case p.kind == byList || p.kind == byWindows:
		b = append(b, "每天的 "...)
	case p.kind == byHash && e.oncePerHash():
		b = append(b, "每天的"...)
	default:
		b = b[:before]
	}
	return e.chineseTime(b, &p)
}

func (e *Expression) chineseTime(b []byte, p *plan) []byte {
	switch p.kind {
	case byList:
		for i, at := range p.times[:p.n] {
			b = chineseJoin(b, i, p.n)
			b = clock(b, at, p.seconds)
		}
	case byStep:
		b = chineseStep(b, p.step)
		b = chineseOffset(b, p)
	case byWindows:
		b = chineseWindows(b, p)
	case byHash:
		b = e.chineseHash(b)
	case byFields:
		b = e.chineseFields(b)
	}
	return b
}

func chineseWindows(b []byte, p *plan) []byte {
	times, n := 0, 0
	for _, w := range p.windows {
		if w.from == w.to {
			times++
		}
	}
	for _, w := range p.windows {
		if w.from == w.to {
			b = clock(chineseJoin(b, n, times), w.from, p.seconds)
			n++
		}
	}
	if times > 0 {
		b = append(b, "，以及 "...)
	}
	n = 0
	for _, w := range p.windows {
		if w.from != w.to {
			b = clock(chineseJoin(b, n, len(p.windows)-times), w.from, p.seconds)
			b = clock(append(b, " 至 "...), w.to, p.seconds)
			n++
		}
	}
	return chineseStep(append(b, ' '), p.step)
}

func chineseJoin(b []byte, i, n int) []byte {
	switch {
	case i == 0:
		return b
	case i == n-1:
		return append(b, " 和 "...)
	}
	return append(b, "、"...)
}

// chineseTight is chineseJoin between words that want no blanks.
func chineseTight(b []byte, i, n int) []byte {
	switch {
	case i == 0:
		return b
	case i == n-1:
		return append(b, "和"...)
	}
	return append(b, "、"...)
}

func chineseStep(b []byte, step int) []byte {
	unit, one := " 秒", "秒"
	switch {
	case step%3600 == 0:
		step, unit, one = step/3600, " 小时", "小时"
	case step%60 == 0:
		step, unit, one = step/60, " 分钟", "分钟"
	}
	b = append(b, "每"...)
	if step == 1 {
		return append(b, one...)
	}
	return append(strconv.AppendInt(append(b, ' '), int64(step), 10), unit...)
}

func chineseOffset(b []byte, p *plan) []byte {
	minute, second := p.offset/60%60, p.offset%60
	switch {
	case p.offset == 0 && p.step == 3600:
		return append(b, "整点"...)
	case p.offset == 0 && p.step > 3600:
		return append(b, "的整点"...)
	case p.offset == 0:
		return b
	case p.step < 60:
		b = strconv.AppendInt(append(b, "（从每分钟的第 "...), int64(second), 10)
		return append(b, " 秒起）"...)
	case p.step < 3600:
		if minute > 0 {
			b = strconv.AppendInt(append(b, "（从每小时的第 "...), int64(minute), 10)
			b = append(b, " 分起）"...)
		}
		if second > 0 {
			b = strconv.AppendInt(append(b, "的第 "...), int64(second), 10)
			b = append(b, " 秒"...)
		}
		return b
	}
	b = strconv.AppendInt(append(b, "的第 "...), int64(minute), 10)
	b = append(b, " 分"...)
	if second > 0 {
		b = strconv.AppendInt(append(b, ' '), int64(second), 10)
		b = append(b, " 秒"...)
	}
	return b
}

// chineseFields says the fields one by one, the largest first.
func (e *Expression) chineseFields(b []byte) []byte {
	s, m := e.second.numbers(0, 59), e.minute.numbers(0, 59)
	seconds := s != 1
	step, offset, even := cyclic(m, 60)
	even = even && step < 60 && offset == 0
	secondStep, secondOffset, evenSeconds := cyclic(s, 60)
	evenSeconds = evenSeconds && secondStep < 60 && secondOffset == 0
	switch {
	case !e.hour.full:
		b = append(chineseList(append(b, "第 "...), e.hour.set), " 点的"...)
	case !e.minute.full:
		b = append(b, "每小时的"...)
	}
	switch {
	case e.minute.full && evenSeconds:
		return chineseStep(b, secondStep)
	case even:
		b = chineseStep(b, step*60)
	default:
		b = chineseNumbers(b, "分", "分钟", m)
	}
	switch {
	case !seconds:
		return b
	case evenSeconds:
		return chineseStep(append(b, "的"...), secondStep)
	}
	return chineseNumbers(append(b, "的"...), "秒", "秒", s)
}

func chineseList(b []byte, set uint64) []byte {
	return grouped(b, set, chineseJoin, " 至 ", func(b []byte, v int) []byte { return strconv.AppendInt(b, int64(v), 10) })
}

// chineseNumbers says a set of numbers: "第 5 分", "第 0、7 和 20 至 25 分", "第 0 至 56 分之间每 7 分钟".
func chineseNumbers(b []byte, unit, length string, set uint64) []byte {
	b = append(b, "第 "...)
	if step, ok := sparse(set); ok {
		b = strconv.AppendInt(b, int64(low(set)), 10)
		b = strconv.AppendInt(append(b, " 至 "...), int64(high(set)), 10)
		b = append(append(b, ' '), unit...)
		b = strconv.AppendInt(append(b, "之间每 "...), int64(step), 10)
		return append(append(b, ' '), length...)
	}
	return append(append(chineseList(b, set), ' '), unit...)
}

// chineseHash says times of day that hang on the job's id.
func (e *Expression) chineseHash(b []byte) []byte {
	s, m, h := &e.second, &e.minute, &e.hour
	plainSecond := s.hash == nil && !s.full && s.set == 1 || s.hash != nil && s.hash.step == 0
	free := m.hash != nil && m.hash.step == 0
	hours, single := h.stretch()
	const someTime = "某一时刻（由任务 id 选定"
	switch {
	case plainSecond && free && h.hash != nil && h.hash.step == 0:
		b = append(b, someTime...)
		if *h.hash != (span{0, 23, 0}) || *m.hash != (span{0, 59, 0}) {
			b = clock(append(b, "，在 "...), h.hash.from*3600+m.hash.from*60, false)
			b = clock(append(b, " 至 "...), h.hash.to*3600+m.hash.to*60, false)
			b = append(b, " 之间"...)
			if *m.hash != (span{0, 59, 0}) && h.hash.from != h.hash.to {
				b = chineseRange(append(b, "，分钟为 "...), m.hash)
			}
		}
		return append(b, "）"...)
	case plainSecond && free && single:
		b = clock(append(b, someTime+"，在 "...), hours*3600+m.hash.from*60, false)
		b = clock(append(b, " 至 "...), hours*3600+m.hash.to*60, false)
		return append(b, " 之间）"...)
	case plainSecond && h.full && m.hash != nil && *m.hash == (span{0, 59, m.hash.step}) && !m.mixed && m.hash.step > 0 && m.hash.even():
		return append(chineseStep(b, m.hash.step*60), "（起点由任务 id 选定）"...)
	}
	b = append(h.chineseHashed(b, "点", "小时", 24), "的"...)
	b = m.chineseHashed(b, "分", "分钟", 60)
	if !plainSecond || s.hash != nil {
		b = s.chineseHashed(append(b, "的"...), "秒", "秒", 60)
	}
	return b
}

// chineseHashed says one field of an expression that hangs on the job's id.
func (f *field) chineseHashed(b []byte, unit, length string, size int) []byte {
	switch {
	case f.hash == nil && f.full:
		return append(append(b, "每"...), length...)
	case f.hash == nil && size == 24:
		return append(append(chineseList(append(b, "第 "...), f.set), ' '), unit...)
	case f.hash == nil:
		return chineseNumbers(b, unit, length, f.set)
	case f.mixed:
		b = append(append(append(b, "第 "...), f.text...), ' ')
		return append(append(b, unit...), "（H 由任务 id 选定）"...)
	case f.hash.step > 0 && f.hash.even():
		b = strconv.AppendInt(append(b, "每 "...), int64(f.hash.step), 10)
		b = append(append(append(b, ' '), length...), "（起点由任务 id 选定"...)
		if f.hash.from != 0 || f.hash.to != size-1 {
			b = append(chineseRange(append(b, "，在 "...), f.hash), " 之间"...)
		}
		return append(b, "）"...)
	}
	b = append(append(append(b, "某一"...), length...), "（由任务 id 选定"...)
	if first := f.hash.first(); first.from != 0 || first.to != size-1 {
		b = append(chineseRange(append(b, "，在 "...), first), " 之间"...)
	}
	b = append(b, "）"...)
	if f.hash.step > 0 {
		b = strconv.AppendInt(append(b, "及其后每 "...), int64(f.hash.step), 10)
		b = append(append(append(b, ' '), length...), "至第 "...)
		b = append(append(strconv.AppendInt(b, int64(f.hash.to), 10), ' '), unit...)
	}
	return b
}

func chineseRange(b []byte, s *span) []byte {
	b = strconv.AppendInt(b, int64(s.from), 10)
	return strconv.AppendInt(append(b, " 至 "...), int64(s.to), 10)
}

// chineseDate appends which days, the year first; nothing for every day.
func (e *Expression) chineseDate(b []byte) []byte {
	begin := len(b)
	b = e.chineseYears(b)
	b = e.chineseWeeks(b, len(b) > begin)
	within := len(b) > begin // of something that has been said
	monthly := e.month.full
	if !monthly {
		switch {
		case !within:
			b = append(b, "每年"...)
		case len(e.year) > 0 && e.year[len(e.year)-1].step > 1:
			b = append(b, "的"...)
		case e.week.full && e.year[len(e.year)-1].from != e.year[len(e.year)-1].to:
			b = append(b, "每年"...)
		}
		b = e.chineseMonths(b)
		within = true
	}
	switch {
	case e.day.full && e.weekday.full:
		if within {
			b = append(b, "的每天"...)
		}
		return b
	case e.weekday.full:
		return e.chineseDays(b, within)
	case e.day.full:
		return e.chineseWeekdays(b, within)
	case e.either:
		b = e.chineseDays(b, within)
		if e.month.full {
			return e.chineseWeekdays(append(b, "或"...), false)
		}
		return e.chineseWeekdayList(append(b, "或"...), "和")
	}
	b = e.chineseDays(b, within)
	b = append(b, "且为"...)
	return e.chineseWeekdayList(b, "或")
}

// spaced appends the blank that stands between Chinese and a number, but not after a mark.
func spaced(b []byte) []byte {
	const mark = "、"
	if n := len(b); n > 0 && b[n-1] != ' ' && !(n >= len(mark) && string(b[n-len(mark):]) == mark) {
		return append(b, ' ')
	}
	return b
}

func (e *Expression) chineseMonths(b []byte) []byte {
	if e.month.mixed {
		return append(append(append(b, "第 "...), e.month.text...), " 月（H 由任务 id 选定）"...)
	}
	if e.month.hash != nil {
		return append(b, "某个月（由任务 id 选定）"...)
	}
	return grouped(b, e.month.set, chineseTight, "至 ", func(b []byte, v int) []byte {
		return append(strconv.AppendInt(spaced(b), int64(v), 10), " 月"...)
	})
}

// chineseDays says the day field after what it is within: "每月 1 日和 15 日".
func (e *Expression) chineseDays(b []byte, within bool) []byte {
	d := &e.day
	switch {
	case e.month.full && !within:
		b = append(b, "每月"...)
	case e.month.full:
		b = append(b, "的每月"...)
	case e.either || bits.OnesCount64(e.month.set) != 1 || d.set == 0:
		b = append(b, "的"...)
	}
	if d.mixed {
		return append(append(append(b, "第 "...), d.text...), " 日（H 由任务 id 选定）"...)
	}
	if len(d.specials) == 0 && d.hash == nil {
		return chineseDayNumbers(b, d.set)
	}
	if d.hash != nil {
		b = append(b, "某一天（由任务 id 选定"...)
		if first := *d.hash.first(); first != (span{1, hashDays, 0}) {
			b = append(chineseRange(append(b, "，在 "...), &first), " 日之间"...)
		}
		b = append(b, "）"...)
		if d.hash.step > 0 {
			b = strconv.AppendInt(append(b, "及其后每 "...), int64(d.hash.step), 10)
			b = chineseDay(append(b, " 天至"...), d.hash.to)
		}
		return b
	}
	n := bits.OnesCount64(d.set) + len(d.specials)
	said := 0
	for set := d.set; set != 0; set &= set - 1 {
		b = chineseDay(chineseTight(b, said, n), low(set))
		said++
	}
	for _, s := range d.specials {
		b = chineseSpecial(chineseTight(b, said, n), s)
		said++
	}
	return b
}

func chineseDay(b []byte, v int) []byte {
	return append(strconv.AppendInt(spaced(b), int64(v), 10), " 日"...)
}

func chineseDayNumbers(b []byte, set uint64) []byte {
	step, ok := sparse(set)
	if !ok {
		return grouped(b, set, chineseTight, "至", chineseDay)
	}
	b = append(chineseDay(b, low(set)), "起每 "...)
	b = append(strconv.AppendInt(b, int64(step), 10), " 天"...)
	if high(set)+step <= 31 {
		b = append(chineseDay(append(b, "至"...), high(set)), "止"...)
	}
	return b
}

func chineseSpecial(b []byte, s special) []byte {
	switch s.kind {
	case fromLast:
		if s.n == 0 {
			return append(b, "最后一天"...)
		}
		b = strconv.AppendInt(append(b, "倒数第 "...), int64(s.n)+1, 10)
		return append(b, " 天"...)
	case lastFull:
		return append(b, "最后一个"+chineseWeekday...)
	case nearest:
		b = strconv.AppendInt(append(b, "最接近 "...), int64(s.n), 10)
		return append(b, " 日的"+chineseWeekday...)
	case nth:
		const numerals = "零一二三四五"
		n := min(max(s.n, 0), 5) * len("一")
		b = append(append(b, "第"...), numerals[n:n+len("一")]...)
		b = append(b, "个"...)
	case lastNth:
		b = append(b, "最后一个"...)
	}
	return append(b, chineseDays[s.day]...)
}

// chineseWeekdays says the weekday field after what it is within: "每周一至周五", "每月第二个周五".
func (e *Expression) chineseWeekdays(b []byte, within bool) []byte {
	w := &e.weekday
	plain := w.set != 0 || w.hash != nil
	switch {
	case plain && within:
		b = append(b, "的每"...)
	case plain:
		b = append(b, "每"...)
	case within && !e.month.full:
		b = append(b, "的"...)
	case within:
		b = append(b, "的每月"...)
	case e.month.full:
		b = append(b, "每月"...)
	}
	return e.chineseWeekdayList(b, "和")
}

func (e *Expression) chineseWeekdayList(b []byte, last string) []byte {
	w := &e.weekday
	if w.mixed {
		return append(append(append(b, "周 "...), w.text...), "（H 由任务 id 选定）"...)
	}
	if w.hash != nil {
		return append(b, "周的某一天（由任务 id 选定）"...)
	}
	join := func(b []byte, i, n int) []byte {
		if i > 0 && i == n-1 {
			return append(b, last...)
		}
		return chineseTight(b, i, n)
	}
	order := weekOrder(w.set)
	n := len(order) + len(w.specials)
	for i, r := range order {
		b = append(join(b, i, n), chineseDays[r.from]...)
		if r.to != r.from {
			b = append(append(b, "至"...), chineseDays[r.to]...)
		}
	}
	for i, s := range w.specials {
		b = join(b, len(order)+i, n)
		if len(order) > 0 && i == 0 {
			b = append(b, "每月"...)
		}
		b = chineseSpecial(b, s)
	}
	return b
}

func (e *Expression) chineseWeeks(b []byte, within bool) []byte {
	if e.week.full {
		return b
	}
	if !within {
		b = append(b, "每年"...)
	}
	if e.week.hash != nil {
		return append(b, "某一周（由任务 id 选定）"...)
	}
	if step, ok := sparse(e.week.set); ok {
		b = strconv.AppendInt(append(b, "第 "...), int64(low(e.week.set)), 10)
		b = strconv.AppendInt(append(b, " 至 "...), int64(high(e.week.set)), 10)
		b = strconv.AppendInt(append(b, " 周（ISO）之间每 "...), int64(step), 10)
		return append(b, " 周"...)
	}
	b = grouped(append(b, "第 "...), e.week.set, chineseJoin, " 至 ", func(b []byte, v int) []byte { return strconv.AppendInt(b, int64(v), 10) })
	return append(b, " 周（ISO）"...)
}

func (e *Expression) chineseYears(b []byte) []byte {
	for i, s := range e.year {
		b = chineseTight(b, i, len(e.year))
		b = strconv.AppendInt(append(b, ' '), int64(s.from), 10)
		switch {
		case s.step > 1:
			b = strconv.AppendInt(append(b, " 年起每 "...), int64(s.step), 10)
			if s.to == lastYear {
				b = append(b, " 年"...)
				break
			}
			b = strconv.AppendInt(append(b, " 年至 "...), int64(s.to), 10)
			b = append(b, " 年"...)
		case s.to == s.from:
			b = append(b, " 年"...)
		case s.to == lastYear:
			b = append(b, " 年起"...)
		default:
			b = strconv.AppendInt(append(b, " 至 "...), int64(s.to), 10)
			b = append(b, " 年"...)
		}
	}
	return b
}
