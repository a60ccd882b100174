module github.com/llamad/llamad/bindings/go

go 1.19

require (
	github.com/vmihailenco/msgpack/v5 v5.4.1
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
)
