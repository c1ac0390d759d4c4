// Package original holds tests alone: what the service that Ruqi takes up got wrong where several nodes share one database, each
// case named by its id in docs/field-cases.md. They are schedulers with stores of their own on one PostgreSQL server, in real time.
package original
