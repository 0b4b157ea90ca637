//! Answers of graphite-web 1.1.10 itself, captured at the moment [`NOW`].

use super::*;
use proptest::prelude::*;

/// Thursday 2024-02-01 12:34:56 UTC.
const NOW: i64 = 1_706_790_896;

/// What graphite-web makes of each text in UTC.
const CAPTURED: &[(&str, i64)] = &[
    ("now", 1_706_790_896),
    ("NOW", 1_706_790_896),
    ("", 1_706_790_896),
    ("-1h", 1_706_787_296),
    ("-1h30min", 1_706_785_496),
    ("+5min", 1_706_791_196),
    ("now-1d", 1_706_704_496),
    ("now+1w", 1_707_395_696),
    ("-1mon", 1_704_198_896),
    ("-1y", 1_675_254_896),
    ("-2weeks", 1_705_581_296),
    ("-1MINUTE", 1_706_790_836),
    ("-1 hour", 1_706_787_296),
    ("1700000000", 1_700_000_000),
    ("0", 0),
    ("20240131", 1_706_659_200),
    ("20241301", 20_241_301),
    ("19991232", 19_991_232),
    ("19000101", 19_000_101),
    ("00000000", 0),
    ("123456789012", 123_456_789_012),
    ("-", 1_706_790_896),
    ("+", 1_706_790_896),
    ("now-", 1_706_790_896),
    ("12pm", 1_706_745_600),
    ("12am", 1_706_788_800),
    ("8am", 1_706_774_400),
    ("8pm", 1_706_817_600),
    ("08:30", 1_706_776_200),
    ("8:30", 1_706_776_200),
    ("8:30pm", 1_706_819_400),
    ("12:00pm", 1_706_745_600),
    ("12:00am", 1_706_788_800),
    ("12:30am", 1_706_790_600),
    ("23:59", 1_706_831_940),
    ("13pm", 1_706_749_200),
    ("23pm", 1_706_785_200),
    ("99pm", 1_706_799_600),
    ("8:5", 1_706_774_700),
    ("noon", 1_706_788_800),
    ("midnight", 1_706_745_600),
    ("teatime", 1_706_803_200),
    ("8:30noon", 1_706_788_800),
    ("noon yesterday", 1_706_702_400),
    ("noon_yesterday", 1_706_702_400),
    ("midnight tomorrow", 1_706_832_000),
    ("6pm today", 1_706_810_400),
    ("6pm_today", 1_706_810_400),
    ("today", 1_706_745_600),
    ("yesterday", 1_706_659_200),
    ("tomorrow", 1_706_832_000),
    ("17:30_20240115", 1_705_339_800),
    ("17:3020240115", 1_705_339_800),
    ("00:00_20240115", 1_705_276_800),
    ("23:59_20240229", 1_709_251_140),
    ("01/31/24", 1_706_659_200),
    ("1/5/2024", 1_704_412_800),
    ("1/5/70", 345_600),
    ("1/5/69", 3_124_569_600),
    ("12/31/1899", 57_749_155_200),
    ("jan5", 1_704_412_800),
    ("january5", 1_704_412_800),
    ("january 05", 1_704_412_800),
    ("Jan, 31", 1_706_659_200),
    ("feb29", 1_709_164_800),
    ("dec31", 1_735_603_200),
    ("jan105", 1_704_412_800),
    ("noon jan 15", 1_705_320_000),
    ("monday", 1_706_486_400),
    ("mon", 1_706_486_400),
    ("tuesday", 1_706_572_800),
    ("wed", 1_706_659_200),
    ("thursday", 1_706_745_600),
    ("thu", 1_706_745_600),
    ("fri", 1_706_227_200),
    ("sunday", 1_706_400_000),
    ("monday-3h", 1_706_475_600),
    ("monday_8am", 1_706_486_400),
    ("8am monday", 1_706_515_200),
    ("8am_monday-30min", 1_706_513_400),
    ("mondayfoo", 1_706_486_400),
    ("yesterday-", 1_706_659_200),
    ("8ammonday", 1_706_515_200),
    ("-1sec", 1_706_790_895),
    ("-1s", 1_706_790_895),
    ("-1d12h30min15s", 1_706_659_481),
    ("-0h", 1_706_790_896),
    ("00:00_19000101", -2_208_988_800),
    ("00:00_18500101", -3_786_825_600),
    ("8am8pm", 1_706_817_600),
];

/// The same in zones with daylight saving, half hours, and another date.
const CAPTURED_IN_ZONES: &[(&str, &str, i64)] = &[
    ("America/New_York", "02:30_20240310", 1_710_055_800),
    ("America/New_York", "01:30_20241103", 1_730_615_400),
    ("America/New_York", "02:30_20240310+1h", 1_710_059_400),
    ("America/New_York", "00:00_20240310+6h", 1_710_068_400),
    ("America/New_York", "midnight", 1_706_763_600),
    ("America/New_York", "8am", 1_706_792_400),
    ("America/New_York", "today-30d", 1_704_171_600),
    ("America/New_York", "now-7d", 1_706_186_096),
    ("America/New_York", "monday", 1_706_504_400),
    ("America/New_York", "thu", 1_706_763_600),
    ("America/New_York", "fri", 1_706_245_200),
    ("Asia/Kolkata", "02:30_20240310", 1_710_018_000),
    ("Asia/Kolkata", "01:30_20241103", 1_730_577_600),
    ("Asia/Kolkata", "02:30_20240310+1h", 1_710_021_600),
    ("Asia/Kolkata", "00:00_20240310+6h", 1_710_030_600),
    ("Asia/Kolkata", "midnight", 1_706_725_800),
    ("Asia/Kolkata", "8am", 1_706_754_600),
    ("Asia/Kolkata", "today-30d", 1_704_133_800),
    ("Asia/Kolkata", "now-7d", 1_706_186_096),
    ("Asia/Kolkata", "monday", 1_706_466_600),
    ("Asia/Kolkata", "thu", 1_706_725_800),
    ("Asia/Kolkata", "fri", 1_706_207_400),
    ("Pacific/Auckland", "02:30_20240310", 1_709_991_000),
    ("Pacific/Auckland", "01:30_20241103", 1_730_550_600),
    ("Pacific/Auckland", "02:30_20240310+1h", 1_709_994_600),
    ("Pacific/Auckland", "00:00_20240310+6h", 1_710_003_600),
    ("Pacific/Auckland", "midnight", 1_706_785_200),
    ("Pacific/Auckland", "8am", 1_706_814_000),
    ("Pacific/Auckland", "today-30d", 1_704_193_200),
    ("Pacific/Auckland", "now-7d", 1_706_186_096),
    ("Pacific/Auckland", "monday", 1_706_439_600),
    ("Pacific/Auckland", "thu", 1_706_698_800),
    ("Pacific/Auckland", "fri", 1_706_785_200),
];

/// What graphite-web refuses.
const REFUSED: &[&str] = &[
    "20240230",
    "99999999999999",
    "-1mm",
    "-h",
    "-5",
    "-1.5h",
    "5min",
    "1h",
    "now-1h+5min",
    "now+1h-5min",
    "24:00",
    "25:00",
    "8:60",
    "8:",
    ":30",
    "123:00",
    "00:00_20240230",
    "00:00_20241301",
    "13/1/2024",
    "1/2",
    "1/2/3/4",
    "1/x/2024",
    "feb30",
    "jan",
    "march1st",
    "nonsense",
    "now5",
    "12:34:56",
    "-3000y",
    "+9000y",
    "today+noon",
];

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

#[test]
fn captured_answers_in_utc() {
    for &(text, expected) in CAPTURED {
        assert_eq!(parse_time(text, NOW, &TimeZone::UTC), Ok(expected), "{text:?}");
    }
}

#[test]
fn captured_answers_in_other_zones() {
    for &(name, text, expected) in CAPTURED_IN_ZONES {
        assert_eq!(parse_time(text, NOW, &zone(name)), Ok(expected), "{text:?} in {name}");
    }
}

#[test]
fn refusals_name_the_text() {
    for &text in REFUSED {
        let error = parse_time(text, NOW, &TimeZone::UTC).expect_err(text).to_string();
        assert!(error.contains(&format!("`{text}`")), "{text:?}: {error}");
    }
}

#[test]
fn refusals_say_what_is_accepted() {
    let error = |text| parse_time(text, NOW, &TimeZone::UTC).unwrap_err().to_string();
    assert!(error("-1mm").contains("use s, min, h"), "{}", error("-1mm"));
    assert!(error("25:00").contains("`17:30`"), "{}", error("25:00"));
    assert!(error("nonsense").contains("`YYYYMMDD`"), "{}", error("nonsense"));
    assert!(error("99999999999999").contains("years 1 and 9999"), "{}", error("99999999999999"));
}

proptest! {
    #[test]
    fn any_text_is_answered_or_refused(text in "\\PC{0,24}") {
        let _ = parse_time(&text, NOW, &zone("America/New_York"));
    }

    #[test]
    fn text_made_of_the_grammars_own_words_never_panics(
        words in prop::collection::vec(
            prop::sample::select(vec!["8", "12", ":", "30", "am", "pm", "noon", "jan", "mon", "day", "/", "20240229", "+", "-", "1h", "é", "now"]),
            0..8,
        )
    ) {
        let _ = parse_time(&words.concat(), NOW, &zone("Asia/Kolkata"));
    }

    #[test]
    fn epochs_are_themselves(seconds in 100_000_000_i64..4_000_000_000) {
        prop_assert_eq!(parse_time(&seconds.to_string(), NOW, &TimeZone::UTC), Ok(seconds));
    }
}
