package wire

// Every answer of a service says by this header that it is one's, also the refusal of a request: what answers without it is another program,
// or a proxy on the way.
const (
	APIHeader  = "Ruqi-Api"
	APIVersion = "v1"
)
