//! Answers of graphite-web itself beside ours, where HTTP and not the data decides: statuses, and what clients may keep.

use super::web::Web;
use crate::harness::Server;

/// graphite-web with nothing stored; it keeps answers for as long as it does unless told otherwise.
const SETTINGS: &str = "\
import os
WHISPER_DIR = os.path.join(STORAGE_DIR, 'whisper')
STANDARD_DIRS = [WHISPER_DIR]
os.makedirs(WHISPER_DIR)
DEFAULT_CACHE_DURATION = 60
";

#[test]
fn a_render_may_be_kept_as_long_as_with_graphite_web() {
    let Some(web) = Web::start("a_render_may_be_kept_as_long_as_with_graphite_web", SETTINGS) else { return };
    let server = Server::start();
    for more in ["", "&noCache=1", "&cacheTimeout=0", "&cacheTimeout=7"] {
        let path = format!("/render?target=nothing.here&format=json{more}");
        let (theirs, ours) = (web.get(&path), server.get(&path));
        assert!(theirs.header("cache-control").is_some(), "{more}: {theirs:?}");
        assert_eq!(ours.header("cache-control"), theirs.header("cache-control"), "{more}");
        assert_eq!(ours.header("expires").is_some(), theirs.header("expires").is_some(), "{more}");
    }
}

#[test]
fn odd_requests_have_the_status_of_graphite_web() {
    let Some(web) = Web::start("odd_requests_have_the_status_of_graphite_web", SETTINGS) else { return };
    let server = Server::start();
    for (path, status) in [
        ("/metrics/expand?query=", 200),
        ("/metrics/expand?query=nothing.", 200),
        ("/metrics/find?query=nothing.", 200),
        ("/metrics/find?query=*&from=2000&until=1000", 400),
    ] {
        let (theirs, ours) = (web.get(path), server.get(path));
        assert_eq!((theirs.status, ours.status), (status, status), "{path}");
        if status == 200 {
            assert_eq!(server.json(path), web.json(path), "{path}");
        }
    }
    for path in ["/functions", "/functions/scale", "/tags"] {
        let (theirs, ours) = (web.post(path, &[]), server.post(path, &[]));
        assert_eq!((theirs.status, ours.status), (405, 405), "{path}");
    }
}
