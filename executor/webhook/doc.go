// Package webhook runs tasks that are HTTP requests: the kind "webhook".
//
// # The task
//
// A task has a method (POST unless given), a url (http or https), headers, a body, and the statuses that count as success
// (2xx unless given: "2xx", "200-204", "200,202", …):
//
//	{"kind":"webhook","method":"POST","url":"https://example.com/hook","headers":{"X-Key":"…"},"body":{"report":"daily"},"expect":"2xx"}
//
// A body that is a text is sent as it is, as text/plain. Any other JSON is sent as JSON; where it is an object, the run's params are
// laid over its members. In both, "{{name}}" within a text stands for the param of that name, or for nothing when there is none. Params
// never change the method, the url or the headers.
//
// In place of url and body a task may have a call, one text URL#JSON: a POST of the JSON, which is {} when nothing stands after the #.
// It is sent as it is written, whatever params the run has, and the task is shown as the whole text, query and body included, but for a password in the url:
//
//	{"kind":"webhook","call":"https://example.com/hook#{\"report\": \"daily\"}","answer":"json"}
//
// Each request says whose it is, for its target to tell a second attempt from a first: Ruqi-Job-Id (percent-encoded), Ruqi-Run-Id,
// Ruqi-Attempt and Ruqi-Nominal-Time.
//
// Vet takes the methods that are registered with IANA, without CONNECT and TRACE, and PURGE and BAN, by which caches are cleared: any other is
// more likely a slip than wanted, and each run would fail of it. What is stored is read and sent whatever its method.
//
// # Its end
//
// The body of the answer is the run's output; what is beyond 8 MiB is not read, and a head beyond 256 KiB is a failure. The run has succeeded when
// the status is one of those expected and, with "answer": "json", the answer is JSON. It has no time limit of its own: that is
// Policy.Timeout. When it is to end, the request is broken off at once; there is nothing to be polite to.
//
// # Where it may go
//
// Whoever may add a job may make the service send requests. Which addresses these may reach is judged when the connection is made,
// by the address itself: a name that resolves to another one later, a redirect or another way to write a number changes
// nothing. An address that is written in the url is judged by Vet, too, when the task is given or changed; a stored task is read wherever it leads. Link-local addresses, among them the metadata services of clouds, and multicast are always refused. Loopback and private
// addresses are refused where Options.Guarded says so, but for those in Options.Allow. The proxies of the environment are not used unless
// Options.Proxy says so; a proxy would hide the address from this check.
//
// Redirects are followed up to five times, each within the same rules, unless their status is one of those expected. What goes to another
// host goes without the task's headers; with a body it does not go.
package webhook
