//! Manifests of backups: any text is read as one or refused, even with a checksum that is right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::disk::{self, Folder, Overlay, real};
use plumbago::store::Headway;
use plumbago::store::embedded::backup::Verified;

fn check(text: &str) {
    let dir = Folder::on(Overlay::over(real()), &std::env::temp_dir().join("plumbago-fuzz-manifest"));
    dir.disk().create_dirs(dir.path()).expect("memory");
    disk::write(&**dir.disk(), &dir.path().join("manifest.jsonl"), text.as_bytes()).expect("memory");
    match Verified::new(&dir, &Headway::default()) {
        // None of the files that it names is there.
        Ok(verified) => assert_eq!(verified.files(), 0),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fuzz_target!(|text: &str| {
    check(text);
    let body = format!("{text}\n");
    check(&format!("{body}{{\"manifest_crc32c\":{}}}\n", crc32c::crc32c(body.as_bytes())));
});
