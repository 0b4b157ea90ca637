//! Colours by name or number, and the themes that `template=` chooses.

/// Red, green, blue, and how much of what lies below is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour {
    /// Red.
    pub(super) red: u8,
    /// Green.
    pub(super) green: u8,
    /// Blue.
    pub(super) blue: u8,
    /// 255 covers all.
    pub(super) alpha: u8,
}

/// Colours of a whole picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) name: &'static str,
    pub(super) background: Colour,
    pub(super) foreground: Colour,
    pub(super) major: Colour,
    pub(super) minor: Colour,
    pub(super) lines: &'static [Colour],
}

const fn rgb(red: u8, green: u8, blue: u8) -> Colour {
    Colour { red, green, blue, alpha: 255 }
}

/// Names as Graphite's users write them. Its red, its green and some others are its own.
const NAMED: [(&str, Colour); 24] = [
    ("black", rgb(0, 0, 0)),
    ("white", rgb(255, 255, 255)),
    ("blue", rgb(100, 100, 255)),
    ("green", rgb(0, 200, 0)),
    ("red", rgb(200, 0, 50)),
    ("yellow", rgb(255, 255, 0)),
    ("orange", rgb(255, 165, 0)),
    ("purple", rgb(200, 100, 255)),
    ("brown", rgb(150, 100, 50)),
    ("cyan", rgb(0, 255, 255)),
    ("aqua", rgb(0, 150, 150)),
    ("gray", rgb(175, 175, 175)),
    ("grey", rgb(175, 175, 175)),
    ("magenta", rgb(255, 0, 255)),
    ("pink", rgb(255, 100, 100)),
    ("gold", rgb(200, 200, 0)),
    ("rose", rgb(200, 150, 200)),
    ("darkblue", rgb(0, 0, 255)),
    ("darkgreen", rgb(0, 255, 0)),
    ("darkred", rgb(255, 0, 0)),
    ("darkgray", rgb(111, 111, 111)),
    ("darkgrey", rgb(111, 111, 111)),
    ("mistyrose", rgb(255, 228, 225)),
    ("transparent", Colour { red: 0, green: 0, blue: 0, alpha: 0 }),
];

/// Lines on a dark ground.
const BRIGHT: [Colour; 12] = [
    rgb(100, 149, 255),
    rgb(60, 200, 90),
    rgb(255, 85, 80),
    rgb(190, 125, 255),
    rgb(200, 140, 80),
    rgb(240, 220, 70),
    rgb(60, 200, 200),
    rgb(175, 175, 175),
    rgb(255, 95, 220),
    rgb(255, 160, 150),
    rgb(215, 180, 40),
    rgb(200, 150, 200),
];

/// Lines on a light ground.
const DEEP: [Colour; 12] = [
    rgb(31, 97, 196),
    rgb(32, 138, 60),
    rgb(204, 41, 36),
    rgb(128, 62, 186),
    rgb(140, 86, 50),
    rgb(176, 140, 0),
    rgb(0, 134, 145),
    rgb(110, 110, 110),
    rgb(196, 40, 150),
    rgb(224, 105, 90),
    rgb(120, 130, 0),
    rgb(90, 70, 120),
];

const GREY: Colour = rgb(120, 120, 120);

/// The first is the default.
const THEMES: [Theme; 5] = [
    Theme {
        name: "default",
        background: rgb(0, 0, 0),
        foreground: rgb(255, 255, 255),
        major: rgb(90, 90, 90),
        minor: rgb(48, 48, 48),
        lines: &BRIGHT,
    },
    Theme {
        name: "noc",
        background: rgb(20, 20, 28),
        foreground: rgb(225, 228, 235),
        major: rgb(75, 78, 90),
        minor: rgb(45, 47, 56),
        lines: &BRIGHT,
    },
    Theme {
        name: "plain",
        background: rgb(255, 255, 255),
        foreground: rgb(20, 20, 20),
        major: rgb(205, 205, 205),
        minor: rgb(232, 232, 232),
        lines: &DEEP,
    },
    Theme {
        name: "summary",
        background: rgb(255, 255, 255),
        foreground: rgb(70, 70, 70),
        major: rgb(220, 220, 220),
        minor: rgb(240, 240, 240),
        lines: &[GREY, rgb(60, 60, 60), rgb(170, 170, 170)],
    },
    Theme {
        name: "alphas",
        background: rgb(255, 255, 255),
        foreground: rgb(20, 20, 20),
        major: rgb(205, 205, 205),
        minor: rgb(232, 232, 232),
        lines: &[
            Colour { red: 0, green: 128, blue: 0, alpha: 170 },
            Colour { red: 31, green: 97, blue: 196, alpha: 170 },
            Colour { red: 204, green: 41, blue: 36, alpha: 170 },
            Colour { red: 150, green: 120, blue: 0, alpha: 170 },
        ],
    },
];

impl Theme {
    /// By its name. The error is a text for the client.
    pub(super) fn named(name: &str) -> Result<&'static Theme, String> {
        THEMES.iter().find(|theme| theme.name == name).ok_or_else(|| {
            let all = THEMES.map(|theme| theme.name).join(", ");
            format!("the template `{name}` does not exist; use one of {all}")
        })
    }
}

impl Colour {
    pub(super) const BLACK: Self = rgb(0, 0, 0);

    /// A name, or `RRGGBB`, `RRGGBBAA` or `RGB` with or without a `#`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        named.map(|(_, colour)| *colour).or_else(|| Self::hex(text.trim_start_matches(['#', '%'])))
    }

    fn hex(digits: &str) -> Option<Self> {
        let short = digits.len() == 3;
        let long: String =
            if short { digits.chars().flat_map(|c| [c, c]).collect() } else { digits.to_owned() };
        if !matches!(long.len(), 6 | 8) || !long.is_ascii() {
            return None;
        }
        let byte =
            |at: usize| long.get(at..at + 2).map_or(Some(255), |pair| u8::from_str_radix(pair, 16).ok());
        Some(Self { red: byte(0)?, green: byte(2)?, blue: byte(4)?, alpha: byte(6)? })
    }

    /// The same with this part of its cover: 0 to 1.
    pub(super) fn faded(self, cover: f64) -> Self {
        let alpha = (f64::from(self.alpha) * cover.clamp(0.0, 1.0)).round() as u8;
        Self { alpha, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(Colour::parse("DarkRed"), Some(rgb(255, 0, 0)));
        assert_eq!(Colour::parse("#00ff7f"), Some(rgb(0, 255, 127)));
        assert_eq!(Colour::parse("f0a"), Some(rgb(255, 0, 170)));
        assert_eq!(Colour::parse("11223344"), Some(Colour { red: 17, green: 34, blue: 51, alpha: 68 }));
        for bad in ["", "#", "no", "12345", "gg0000", "ééé", "#1234567890"] {
            assert_eq!(Colour::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn fading_multiplies() {
        assert_eq!(rgb(1, 2, 3).faded(0.5).alpha, 128);
        assert_eq!(rgb(1, 2, 3).faded(7.0).alpha, 255);
    }

    #[test]
    fn themes_are_found() {
        assert_eq!(Theme::named("plain").unwrap().name, "plain");
        assert!(Theme::named("nothing").unwrap_err().contains("use one of default, noc"));
    }
}
