module github.com/ruqi-dev/ruqi

go 1.26
