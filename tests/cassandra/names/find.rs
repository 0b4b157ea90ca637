//! Globs: the index in memory, SASI and SAI give the same answers.

use std::time::Instant;

use plumbago::index::{FindLimits, Index, SharedIndex};
use plumbago::store::cassandra::names::{Hit, LookupError, LookupLimits, Names};
use plumbago::store::cassandra::schema::Indexes;
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId};

use super::{Fixture, create, policy};

const LIMITS: LookupLimits = LookupLimits { max_hits: 10_000, max_rows: 100_000 };

/// One of each kind, and those that could go wrong.
const PATTERNS: &[&str] = &[
    // Literal.
    "top",
    "servers",
    "a.b",
    "a.b.c",
    "nothing",
    "a.nothing",
    "servers.par.host1.mem",
    ".a..b.",
    "a.{b}",
    "__END__",
    "a.__END__",
    "upper.case",
    "q'uote.*",
    "sp ace.*",
    "50%.*",
    "%odd.*",
    "%o*.x",
    "%*.*",
    "50%*.*",
    // One level.
    "*",
    "servers.*",
    "servers.par.host1.*",
    "a.*",
    "t*",
    "?",
    "s*s",
    "*s",
    "servers.pa*",
    "servers.par.host1?.mem",
    // Wildcards in the middle.
    "servers.*.host1.cpu.load1",
    "servers.*.*.mem",
    "servers.p*.host[0-3].mem.free",
    "*.*",
    "*.*.*",
    "*.*.*.*.*",
    "*.b.*",
    "a.*.c",
    "servers.*.host?.cpu.load*",
    "servers.par.*.cpu.*",
    "servers.par*.host1*.*.io",
    "servers.*.host[!0-8].mem",
    // Braces.
    "{a,x}.*",
    "servers.{par,ams}.host{1,2}.mem",
    "a.{b,x}.c",
    "{a.b,x}.c",
    "{a.b.*,x.*,top}",
    "a.{,b}",
    "servers.{pa*,a?s}.host3.{cpu,mem}.*",
    "{s,t}*",
    "{été,日本}.*",
    "{a,b,c,d,e,f,g,h,i,j}*.*",
    "{**,top}",
    // Classes.
    "[a-t]op",
    "[!a-s]op",
    "x.[cx]",
    "[é]té.*",
    "?té.*.?",
    "日?.*.温*",
    "[A-Z]*.case",
    // Globstars.
    "**",
    "a.**",
    "**.c",
    "a.**.c",
    "servers.**.io",
    "servers.**.load1",
    "**.b.**",
    "a.**.b.**",
    "servers.*.**.free",
    "servers.par.host1.**",
    "**.host1*.**",
    "x.**.x",
    "**.deep",
    "nothing.**",
    "**.nothing",
    // Escapes and characters without their partners.
    "star\\*.x",
    "curly{.x",
    "curly\\{.*",
    "brack[et.x",
    "what\\?.*",
    "back\\\\slash.x",
    "comma,.x",
    // Tagged names.
    "t.g;k=v",
    "t;k=v.w;z=*",
    "t.g;*",
    "t.*",
    "t;k=v.*",
];

/// Regular ones, and every odd one that may be stored.
fn metrics() -> Vec<String> {
    let mut metrics = Vec::new();
    for dc in ["par", "ams", "paris"] {
        for host in 0..12 {
            for leaf in ["cpu.load1", "cpu.load15", "mem.free", "mem", "disk.sda.io"] {
                metrics.push(format!("servers.{dc}.host{host}.{leaf}"));
            }
        }
    }
    let odd = [
        "top",
        "servers",
        "a.b",
        "a.b.c",
        "a.b.c.d",
        "a.x.c",
        "a.b.x.c",
        "a.b.b.x.c",
        "x.c",
        "x.x",
        "x",
        "été.café.☃",
        "été.cafe.n",
        "日本.東京.温度",
        "UPPER.case",
        "upper.case",
        "a.B",
        "50%.used",
        "%odd.x",
        "%odd%.y",
        "under_score.a_b",
        "sp ace.and tab",
        "q'uote.d\"ouble",
        "curly{.x",
        "brack[et.x",
        "star*.x",
        "what?.x",
        "back\\slash.x",
        "comma,.x",
        "__END__",
        "a.__END__.b",
        "a.__END__",
        "t.g;k=v",
        "t;k=v.w;z=*",
        "dash-ed.x-y",
    ];
    metrics.extend(odd.map(str::to_owned));
    metrics.push(vec!["deep"; 63].join("."));
    metrics.push(vec!["deep"; 62].join("."));
    metrics
}

fn patterns() -> Vec<String> {
    let hosts: Vec<String> = (0..60).map(|n| format!("host{n}")).collect();
    let hosts = hosts.join(",");
    let mut patterns: Vec<String> = PATTERNS.iter().map(|pattern| (*pattern).to_owned()).collect();
    patterns.push(format!("servers.par.{{{hosts}}}.mem"));
    patterns.push(format!("servers.*.{{{hosts}}}.mem"));
    patterns.push(format!("servers.{{par,ams}}.{{{hosts}}}.cpu.*"));
    patterns.push(vec!["deep"; 63].join("."));
    patterns.push(vec!["*"; 63].join("."));
    patterns.push(vec!["*"; 62].join("."));
    patterns.push(format!("{}.*", vec!["deep"; 62].join(".")));
    patterns.push(format!("{}.**", vec!["deep"; 60].join(".")));
    patterns
}

fn in_memory(metrics: &[String]) -> SharedIndex {
    let mut index = Index::new();
    for (nth, name) in metrics.iter().enumerate() {
        index.insert(MetricId(nth as u32), name).unwrap();
    }
    SharedIndex::new(index)
}

fn expected(index: &SharedIndex, glob: &Glob) -> Vec<Hit> {
    let found = index.find(glob, FindLimits::names(10_000), &Cancel::never()).unwrap();
    let hit = |found: plumbago::index::Found<'_>| Hit {
        path: found.path.to_owned(),
        leaf: found.leaf.is_some(),
        directory: found.directory,
    };
    found.iter().map(hit).collect()
}

fn agree(names: &Names, index: &SharedIndex) {
    let mut found = 0;
    for pattern in patterns() {
        let glob = Glob::parse(&pattern).unwrap();
        let expected = expected(index, &glob);
        let begun = Instant::now();
        let hits = names.find(&glob, LIMITS, &Cancel::never()).unwrap();
        assert_eq!(hits, expected, "{pattern}");
        let leaves: Vec<&str> = expected.iter().filter(|hit| hit.leaf).map(|hit| hit.path.as_str()).collect();
        assert_eq!(names.find_leaves(&glob, LIMITS, &Cancel::never()).unwrap(), leaves, "{pattern}");
        found += hits.len();
        if pattern.len() < 60 {
            println!("{pattern}: {} in {:?}", hits.len(), begun.elapsed());
        }
    }
    assert!(found > 1500, "{found}");
}

fn limits_hold(names: &Names) {
    let glob = Glob::parse("servers.*.*.mem").unwrap();
    let few = LookupLimits { max_hits: 35, ..LIMITS };
    let error = names.find(&glob, few, &Cancel::never()).unwrap_err();
    assert!(matches!(error, LookupError::TooManyHits { limit: 35, .. }), "{error}");
    assert!(error.to_string().contains("`servers.*.*.mem` matches more than 35 names"), "{error}");
    let few = LookupLimits { max_hits: 36, ..LIMITS };
    assert_eq!(names.find(&glob, few, &Cancel::never()).unwrap().len(), 36);
    let few = LookupLimits { max_rows: 100, ..LIMITS };
    let error = names.find(&Glob::parse("**.*nothing*").unwrap(), few, &Cancel::never()).unwrap_err();
    assert!(error.to_string().contains("more than 100 rows"), "{error}");
    let cancel = Cancel::never();
    cancel.cancel();
    assert!(matches!(names.find(&glob, LIMITS, &cancel), Err(LookupError::Cancelled { .. })));
}

fn one_body_for_all(test: &str, indexes: Indexes) {
    let Some(fixture) = Fixture::whole(test, indexes) else { return };
    let metrics = metrics();
    create(&fixture.names, &metrics, &policy("60*60s|average|0.5"));
    agree(&fixture.names, &in_memory(&metrics));
    limits_hold(&fixture.names);
}

#[test]
fn globs_by_sasi_give_what_memory_gives() {
    one_body_for_all("globs_by_sasi_give_what_memory_gives", Indexes::Sasi);
}

#[test]
fn globs_by_sai_give_what_memory_gives() {
    one_body_for_all("globs_by_sai_give_what_memory_gives", Indexes::Sai);
}
