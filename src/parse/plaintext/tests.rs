use proptest::prelude::*;

use super::*;

const NOW: u32 = 1_700_000_000;
const LIMITS: Limits =
    Limits { now: NOW, max_future_secs: 3600, keep_infinite: true, max_line_bytes: 200, max_name_bytes: 50 };

fn parsed(line: &str) -> Result<(&str, u32, f64), Reject> {
    parse_line(line.as_bytes(), &LIMITS).map(|(name, point)| (name, point.timestamp, point.value))
}

#[test]
fn the_usual_line() {
    assert_eq!(parsed("a.b.c 42.5 1699999999"), Ok(("a.b.c", 1_699_999_999, 42.5)));
    assert_eq!(parsed("a -1e3 0"), Ok(("a", 0, -1000.0)));
    assert_eq!(parsed("é;k=ü 1 5"), Ok(("é;k=ü", 5, 1.0)));
}

#[test]
fn fields_are_parted_by_any_white_space() {
    for line in [
        "a 1 5\r",
        "  a 1 5  ",
        "a\t1\t5",
        "a  1 \t 5\r",
        "\x0b\x0ca 1\x0b5",
        "a 1 5 \r",
        "a\r1\r5",
        "a 1  5",
        "a  1 5",
        " a 1 5",
    ] {
        assert_eq!(parsed(line), Ok(("a", 5, 1.0)), "{line:?}");
    }
    for line in ["a", "a 1", "a 1 5 6", "a b 1 5", "a\tb 1 5", "1 5", " 1 5", "a 1 5\0 6"] {
        assert_eq!(parsed(line), Err(Reject::BadLine), "{line:?}");
    }
}

#[test]
fn numbers_as_python_reads_them() {
    assert_eq!(parsed("a 1_000 5"), Ok(("a", 5, 1000.0)));
    assert_eq!(parsed("a inf 5"), Ok(("a", 5, f64::INFINITY)));
    assert_eq!(parsed("a 1 5.99"), Ok(("a", 5, 1.0)));
    assert_eq!(parsed("a 1 1.6e9"), Ok(("a", 1_600_000_000, 1.0)));
    assert_eq!(parsed("a 1 -1"), Ok(("a", NOW, 1.0)));
    assert_eq!(parsed("a 1 -1.0"), Ok(("a", NOW, 1.0)));
    assert_eq!(parsed("a 1 0000000000005"), Ok(("a", 5, 1.0)));
}

#[test]
fn each_fault_has_its_reason() {
    for (line, reason) in [
        ("a x 5", Reject::BadValue),
        ("a 1,5 5", Reject::BadValue),
        ("a nan 5", Reject::NanValue),
        ("a -NaN 5.5", Reject::NanValue),
        ("a 1 N", Reject::BadTimestamp),
        ("a 1 -5", Reject::BadTimestamp),
        ("a 1 nan", Reject::BadTimestamp),
        ("a 1 inf", Reject::BadTimestamp),
        ("a 1 1700003601", Reject::TooFarInFuture),
        ("a 1 1700003601.5", Reject::TooFarInFuture),
        ("a 1 4294967296", Reject::TooFarInFuture),
        ("a 1 1700000000000", Reject::TooFarInFuture),
    ] {
        assert_eq!(parsed(line), Err(reason), "{line}");
    }
    assert_eq!(parse_line(b"a\xff 1 5", &LIMITS), Err(Reject::NotUtf8));
    assert_eq!(parsed("a 1 1700003600"), Ok(("a", 1_700_003_600, 1.0)));
    let finite_only = Limits { keep_infinite: false, ..LIMITS };
    assert_eq!(parse_line(b"a -inf 5", &finite_only), Err(Reject::InfiniteValue));
}

#[test]
fn long_lines_are_refused_whatever_they_hold() {
    let line = format!("{} 1 5", "x".repeat(196));
    assert_eq!(line.len(), 200);
    assert!(parsed(&line).is_ok());
    assert_eq!(parsed(&format!("x{line}")), Err(Reject::LineTooLong));
}

#[test]
fn a_buffer_of_lines() {
    let buffer = b"a 1 1\r\n\nbad\n  \t\r\nb 2 2\n\xfe 1 1\nc 3 3";
    let mut batch = Batch::default();
    let mut refused = Vec::new();
    let lines = parse_lines(buffer, &LIMITS, &mut batch, |reason, line| refused.push((reason, line)));
    let names: Vec<&str> = batch.entries.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(refused, [(Reject::BadLine, &b"bad"[..]), (Reject::NotUtf8, &b"\xfe 1 1"[..])]);
    assert_eq!(lines, 5);
    assert_eq!(parse_lines(b"", &LIMITS, &mut Batch::default(), |_, _| ()), 0);
}

proptest! {
    #[test]
    fn the_short_cut_agrees_with_the_rules(line in r"[a1 .\t\r_e+-]{0,16}( [0-9a.]{1,4})?( [0-9]{1,11})?\r?") {
        if let Some(taken) = usual(line.as_bytes(), &LIMITS) {
            prop_assert_eq!(unusual(line.as_bytes(), &LIMITS), Ok((std::str::from_utf8(taken.0).unwrap(), taken.1)));
        }
    }

    #[test]
    fn any_bytes_are_taken_or_refused(buffer in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut batch = Batch::default();
        let mut refused = 0;
        let lines = parse_lines(&buffer, &LIMITS, &mut batch, |_, _| refused += 1);
        prop_assert_eq!(lines, batch.len() as u64 + refused);
    }

    #[test]
    fn what_is_written_is_read(
        points in prop::collection::vec(("[a-z.;=é]{1,20}", 0..NOW, any::<f64>().prop_filter("finite", |v| v.is_finite())), 0..20),
    ) {
        let text: String = points.iter().map(|(name, time, value)| format!("{name} {value} {time}\n")).collect();
        let mut batch = Batch::default();
        parse_lines(text.as_bytes(), &Limits { max_line_bytes: 1000, ..LIMITS }, &mut batch, |reason, _| panic!("{reason:?}"));
        prop_assert_eq!(batch.len(), points.len());
        for ((name, time, value), (got, point)) in points.iter().zip(&batch.entries) {
            prop_assert_eq!(name.as_str(), *got);
            prop_assert_eq!((*time, value.to_bits()), (point.timestamp, point.value.to_bits()));
        }
    }
}
