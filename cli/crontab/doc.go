// Package crontab reads crontabs as job definitions and writes jobs as a crontab: text in, definitions, notes and faults out. It
// opens no file, asks no service and starts nothing; two questions about the host (is this a user, where is one's home) are asked through Options.
//
// What a line means is taken from cronie and from Debian's cron, which agree on nearly all of it; crontab(5) of either is the reference.
package crontab
