//! Sends the spans of requests and queries to a collector, in OTLP over HTTP. Only with the Cargo feature `otlp`.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Level, Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

/// The name of the service, unless `OTEL_SERVICE_NAME` has another.
const SERVICE: &str = "plumbago";

/// The variables of the standard that name a collector.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// How long the collector has for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends what is left when it is dropped.
pub struct Export(SdkTracerProvider);

impl Drop for Export {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::debug!(%error, "the last spans were not sent");
        }
    }
}

/// Is there a collector? `endpoint` is what the configuration says.
pub fn is_wanted(endpoint: Option<&str>) -> bool {
    endpoint.is_some()
        || VARIABLES.iter().any(|name| std::env::var_os(name).is_some_and(|url| !url.is_empty()))
}

/// The layer that sends spans to the collector of the configuration, or else of the environment.
pub fn layer<S>(endpoint: Option<&str>) -> Result<(impl Layer<S>, Export), String>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let exporter = SpanExporter::builder().with_http().with_http_client(Client);
    let exporter = match endpoint {
        Some(url) => exporter.with_endpoint(format!("{}/v1/traces", url.trim_end_matches('/'))),
        None => exporter,
    };
    let exporter = exporter.build().map_err(|error| error.to_string())?;
    let resource = Resource::builder();
    let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => resource,
        None => resource.with_service_name(SERVICE),
    };
    let provider =
        SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build();
    let tracer = provider.tracer(SERVICE);
    // Our own spans, whatever the log shows. The exporter's would make new ones for ever.
    let own = Targets::new().with_target("plumbago", Level::DEBUG);
    let layer = tracing_opentelemetry::layer().with_tracer(tracer).with_location(false).with_threads(false);
    Ok((layer.with_filter(own), Export(provider)))
}

/// Makes a span a part of the trace that a caller has begun.
pub fn go_on(span: &Span, traceparent: Option<&str>, tracestate: Option<&str>) {
    let headers = Headers { traceparent, tracestate };
    if traceparent.is_some() {
        let _ = span.set_parent(TraceContextPropagator::new().extract(&headers));
    }
}

/// The two headers of a trace.
struct Headers<'a> {
    traceparent: Option<&'a str>,
    tracestate: Option<&'a str>,
}

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.traceparent,
            "tracestate" => self.tracestate,
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

/// Posts to a collector over bare HTTP. It blocks, on the thread that the exporter has for it.
struct Client;

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let authority = head.uri.authority().filter(|_| head.uri.scheme_str() == Some("http"));
        let authority = authority.ok_or("only http:// is spoken to a collector; run one nearby")?;
        let host = authority.host().trim_matches(['[', ']']);
        let address = (host, authority.port_u16().unwrap_or(80)).to_socket_addrs()?.next();
        let mut stream = TcpStream::connect_timeout(&address.ok_or("the name has no address")?, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut text = format!(
            "{} {path} HTTP/1.0\r\nHost: {authority}\r\nContent-Length: {}\r\n",
            head.method,
            body.len()
        );
        for (name, value) in &head.headers {
            text.push_str(&format!("{name}: {}\r\n", value.to_str()?));
        }
        stream.write_all(text.as_bytes())?;
        stream.write_all(b"\r\n")?;
        stream.write_all(&body)?;
        let mut answer = Vec::new();
        // The answer says next to nothing; what is longer than this is not from a collector.
        stream.take(64 * 1024).read_to_end(&mut answer)?;
        let head = String::from_utf8_lossy(answer.get(..64).unwrap_or(&answer)).into_owned();
        let status: u16 =
            head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no answer in HTTP")?;
        Ok(Response::builder().status(status).body(Bytes::new())?)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    /// Takes one request, and gives its head and body.
    fn collector() -> (String, std::thread::JoinHandle<(String, Vec<u8>)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let taken = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            loop {
                let mut piece = [0; 4096];
                let len = stream.read(&mut piece).unwrap();
                bytes.extend_from_slice(&piece[..len]);
                let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") else { continue };
                let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
                let length = head
                    .lines()
                    .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
                if bytes.len() - end - 4 == length.unwrap().parse::<usize>().unwrap() {
                    stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                    return (head, bytes[end + 4..].to_vec());
                }
            }
        });
        (url, taken)
    }

    fn holds(bytes: &[u8], part: &[u8]) -> bool {
        memchr::memmem::find(bytes, part).is_some()
    }

    fn unhex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn spans_arrive_at_a_collector_as_parts_of_the_trace_that_was_begun() {
        let (url, taken) = collector();
        let (layer, export) = layer(Some(&url)).unwrap();
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            let request = tracing::info_span!(target: "plumbago::http::trace", "request", path = "/render");
            go_on(&request, Some(&format!("00-{TRACE}-{PARENT}-01")), None);
            request
                .in_scope(|| drop(tracing::debug_span!(target: "plumbago::http", "phase", name = "fetch")));
            drop(tracing::info_span!(target: "hyper", "someone else's"));
        });
        drop(export);
        let (head, body) = taken.join().unwrap();
        assert!(head.starts_with("POST /v1/traces HTTP/1.0\r\n"), "{head}");
        assert!(head.contains("application/x-protobuf"), "{head}");
        for part in ["plumbago", "request", "/render", "phase", "fetch"] {
            assert!(holds(&body, part.as_bytes()), "{part}");
        }
        assert!(holds(&body, &unhex(TRACE)) && holds(&body, &unhex(PARENT)));
        assert!(!holds(&body, b"someone"));
    }
}
