// Package cronwords says in English and in Chinese what a cron expression means. It reads the canonical texts of the fields, whatever the dialect they were written in: numbers,
// a-b, /n, lists, weekdays by their names, L, L-3, LW, 15W, fri#2, friL, last, 1st fri, last fri, ?, ranges that
// wrap, and H. It does not judge them: that was done by whoever wrote the canonical text.
//
// Where to start reading: Read takes the texts apart, plan decides how the times of day are said, english.go and
// chinese.go say it.
package cronwords
