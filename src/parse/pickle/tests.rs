use proptest::prelude::*;

use super::*;

const NOW: u32 = 1_700_000_000;
const LIMITS: Limits = Limits {
    now: NOW,
    max_future_secs: 3600,
    keep_infinite: true,
    max_line_bytes: 1000,
    max_name_bytes: 100,
};

/// Frames that real Pythons made; see `make.py` beside it.
const FRAMES: &str = include_str!("../../../tests/fixtures/pickle/frames.txt");

#[derive(Debug, Default, PartialEq)]
struct Read {
    points: Vec<(String, u32, f64)>,
    refused: Vec<Reject>,
}

fn read(frame: &[u8]) -> Result<Read, PickleError> {
    let pickle = Pickle::read(frame)?;
    let (mut batch, mut refused) = (Batch::default(), Vec::new());
    let elements = pickle.points(&LIMITS, &mut batch, |reason, _| refused.push(reason));
    assert_eq!(elements as usize, batch.len() + refused.len());
    let points =
        batch.entries.iter().map(|(name, point)| (String::from(*name), point.timestamp, point.value));
    Ok(Read { points: points.collect(), refused })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// What each case of `make.py` means.
fn expected(case: &str) -> Read {
    let host = "carbon.agents.host.cpuUsage";
    let points: &[(&str, u32, f64)] = match case {
        "relay" => &[(host, NOW, 0.25), ("a.b;k=v", NOW + 60, -3.0)],
        "integers" => &[
            ("a", 0, 0.0),
            ("a", 255, 255.0),
            ("a", 65_535, -1.0),
            ("a", NOW, 2_147_483_648.0),
            ("a", NOW, 1_099_511_627_776.0),
            ("a", 1, -1_180_591_620_717_411_303_424.0),
        ],
        "strings" => &[("a", NOW, 2.5), ("b", 5, -1000.0)],
        "shared" => &[(host, NOW, 1.5), ("other", NOW, 1.5), (host, NOW, 1.5)],
        "lists" => &[("a", 1, 2.0), ("b", 3, 4.0), ("c", 5, 6.0)],
        "tuple" => &[("a", 1, 2.0), ("b", 3, 4.0)],
        "unicode" => &[("café.€.😀", 1, 2.0), ("back\\slash", 3, 4.0)],
        "quoted" => &[("it's", 1, 2.0), ("\"both\" it's \\", 3, 4.0), ("café", 5, 6.0)],
        "booleans" => &[("a", 1, 1.0), ("b", 2, 0.0)],
        "broken" => &[("a", 1, 2.0), ("z", 3, 4.0)],
        "special" => &[("a", 1, f64::INFINITY)],
        "bytes" => &[("a.b", 1, 2.0), ("c", 5, 6.0)],
        "empty" => &[],
        other => panic!("make.py has a new case {other}: say here what it means"),
    };
    let refused = match case {
        "broken" => vec![Reject::BadPickleElement; 9],
        "special" => vec![Reject::NanValue],
        "bytes" => vec![Reject::NotUtf8],
        _ => Vec::new(),
    };
    Read { points: points.iter().map(|&(name, t, v)| (name.to_owned(), t, v)).collect(), refused }
}

#[test]
fn reads_what_real_pythons_write() {
    let mut frames = 0;
    for line in FRAMES.lines() {
        let [python, pickler, protocol, case, hex] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not a frame: {line}")
        };
        let found = read(&unhex(hex));
        assert_eq!(found, Ok(expected(case)), "python {python} {pickler} protocol {protocol} case {case}");
        frames += 1;
    }
    assert!(frames > 200, "only {frames} frames");
}

#[test]
fn a_frame_cut_short_is_refused_at_every_byte() {
    for line in FRAMES.lines() {
        let frame = unhex(line.split(' ').next_back().unwrap());
        for end in 0..frame.len() {
            assert!(read(&frame[..end]).is_err(), "{line} cut at {end}");
        }
    }
}

#[test]
fn lists_may_be_filled_in_several_steps() {
    let element = b"U\x01aK\x01K\x02\x86\x86";
    let frame = [b"](", &element[..], b"e(", element, element, b"e", element, b"a."].concat();
    assert_eq!(read(&frame).unwrap().points, vec![("a".to_owned(), 1, 2.0); 4]);
}

#[test]
fn a_list_seen_before_it_was_filled_is_the_same_list() {
    // memo 0 = [], list = [memo 0], then memo 0 gets its items: pickled lists are shared, not copied.
    let frame = b"]q\x00]h\x00ah\x00U\x01aaK\x01K\x02\x86a0.";
    // ^ inner list, memoised; outer list; inner appended; inner filled with 'a' and (1, 2); popped; outer is left below.
    let read = read(frame).unwrap();
    assert_eq!(read, Read { points: vec![("a".to_owned(), 1, 2.0)], refused: vec![] });
}

#[test]
fn whatever_names_or_calls_things_is_refused() {
    for (what, frame) in [
        ("GLOBAL and REDUCE", &b"cos\nsystem\n(S'true'\ntR."[..]),
        ("INST", b"(ios\nsystem\n."),
        ("STACK_GLOBAL", b"\x80\x04\x8c\x02os\x8c\x06system\x93."),
        ("OBJ", b"(U\x01ao."),
        ("BUILD", b"]]b."),
        ("NEWOBJ", b"])\x81."),
        ("NEWOBJ_EX", b"])}\x92."),
        ("PERSID", b"Pa\n."),
        ("BINPERSID", b"]Q."),
        ("EXT1", b"\x82\x01."),
        ("NEXT_BUFFER", b"\x97."),
        ("unknown", b"\xff."),
    ] {
        assert!(matches!(read(frame), Err(PickleError::NotData { .. })), "{what}: {:?}", read(frame));
    }
    let error = read(b"](cos\nsystem\n.").unwrap_err();
    assert!(error.to_string().contains("0x63 at byte 2"), "{error}");
}

#[test]
fn bombs_are_refused_and_stay_small() {
    let many = |part: &[u8], times: usize| part.repeat(times);
    for (what, frame) in [
        ("nested tuples", [b")".to_vec(), many(b"\x85", 100_000), b".".to_vec()].concat()),
        ("nested lists", [many(b"]", 17), many(b"a", 16), b".".to_vec()].concat()),
        ("marks", many(b"(", 100_000)),
        ("stack", many(b"N", 100_000)),
        ("duplicates", [b"]".to_vec(), many(b"2", 100_000)].concat()),
        ("memo index", b"]r\xff\xff\xff\xff.".to_vec()),
        ("memo line", b"]p4000000000\n.".to_vec()),
    ] {
        assert!(matches!(read(&frame), Err(PickleError::TooBig { .. })), "{what}: {:?}", read(&frame));
    }
    // Lengths of four gigabytes and more, with nothing behind them.
    for frame in [
        &b"X\xff\xff\xff\xff"[..],
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x8b\xff\xff\xff\xff",
        b"T\xff\xff\xff\xff",
    ] {
        assert!(matches!(read(frame), Err(PickleError::Malformed { .. })));
    }
    assert_eq!(std::mem::size_of::<Value>(), 16);
}

#[test]
fn a_list_in_itself_is_an_element_like_any_other() {
    assert_eq!(read(b"]q\x00h\x00a.").unwrap().refused, [Reject::BadPickleElement]);
}

#[test]
fn a_list_in_a_loop_does_not_hang() {
    // Nothing follows references deeper than three levels, so a loop is only odd data.
    assert!(read(b"]q\x00(h\x00h\x00h\x00e.").is_ok());
}

#[test]
fn the_stack_cannot_be_read_below_its_floor() {
    for frame in [
        &b"."[..],
        b"a.",
        b"]a.",
        b"e.",
        b"(e.",
        b"t.",
        b"\x86.",
        b"]\x86.",
        b"](\x85.",
        b"](.",
        b"0.",
        b"1.",
        b"2.",
        b"](2.",
        b"s.",
        b"u.",
        b"q\x00.",
        b"h\x00.",
        b"K\x01K\x02a.",
        b"(K\x01(e.",
    ] {
        let result = read(frame);
        assert!(matches!(result, Err(PickleError::Malformed { .. })), "{}: {result:?}", frame.escape_ascii());
    }
}

#[test]
fn the_outermost_value_must_be_a_list() {
    for frame in [&b"N."[..], b"K\x01.", b"U\x01a.", b"}.", b"(U\x01aK\x01d."] {
        assert_eq!(read(frame), Err(PickleError::NotAList));
    }
}

#[test]
fn long_names_and_long_numbers_are_not_looked_at() {
    let element = |name: &str, value: &str| {
        let text = |t: &str| [b"X", &(t.len() as u32).to_le_bytes()[..], t.as_bytes()].concat();
        [b"]".to_vec(), text(name), b"K\x01".to_vec(), text(value), b"\x86\x86a.".to_vec()].concat()
    };
    assert_eq!(read(&element(&"n".repeat(100), "1")).unwrap().refused, []);
    assert_eq!(read(&element(&"n".repeat(101), "1")).unwrap().refused, [Reject::NameTooLong]);
    assert_eq!(read(&element("a", &"1".repeat(400))).unwrap().points[0].2, f64::INFINITY);
    assert_eq!(read(&element("a", &"1".repeat(401))).unwrap().refused, [Reject::BadPickleElement]);
}

#[test]
fn whole_numbers_of_any_length() {
    let long = |bytes: &[u8]| [b"]U\x01aK\x01\x8a", &[bytes.len() as u8][..], bytes, b"\x86\x86a."].concat();
    for (bytes, number) in [(&b""[..], 0.0), (b"\xff", -1.0), (b"\xff\x00", 255.0), (b"\x00\x80", -32768.0)] {
        assert_eq!(read(&long(bytes)).unwrap().points[0].2, number);
    }
    assert_eq!(read(&long(&[0x7f; 16])).unwrap().points.len(), 1);
    assert_eq!(read(&long(&[0x7f; 17])).unwrap().refused, [Reject::BadPickleElement]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(frame in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&frame);
    }

    /// Random programs of opcodes that are known reach much deeper than random bytes.
    #[test]
    fn any_program_is_read_or_refused(
        program in prop::collection::vec(prop::sample::select(&b"()]}tlaesud012N\x85\x86\x87\x94K\x01h\x00q\x00U\x01V\n.'"[..]), 0..120),
    ) {
        let _ = read(&program);
    }
}
