module github.com/ruqi-dev/ruqi/bench

go 1.26.0

require (
	github.com/adhocore/gronx v1.20.4
	github.com/robfig/cron/v3 v3.0.1
	github.com/ruqi-dev/ruqi v0.0.0
)

replace github.com/ruqi-dev/ruqi => ../
