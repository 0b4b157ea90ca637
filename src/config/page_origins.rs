//! Which pages may read answers in a browser.

use std::fmt;

/// None, some, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageOrigins {
    /// Pages of these, each as a browser names it: `https://grafana.example:3000`.
    These(Vec<String>),
    /// Pages from anywhere.
    Any,
}

impl Default for PageOrigins {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

/// The text is not an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotAnOrigin(String);

impl fmt::Display for NotAnOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(
            f,
            "`{text}` is not an origin; write scheme, host and port as the browser shows them, without a path, such \
             as \"https://grafana.example:3000\", or \"*\" alone for all"
        )
    }
}

impl PageOrigins {
    /// Checks each text.
    pub(super) fn parse(texts: &[String]) -> Result<Self, NotAnOrigin> {
        if texts == ["*"] {
            return Ok(Self::Any);
        }
        match texts.iter().find(|text| !is_origin(text)) {
            Some(wrong) => Err(NotAnOrigin(wrong.clone())),
            None => Ok(Self::These(texts.to_vec())),
        }
    }
}

fn is_origin(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let plain = |c: char| c.is_ascii_graphic() && !"/?#@\\*\"'<>".contains(c);
    matches!(scheme, "http" | "https") && !rest.is_empty() && rest.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(texts: &[&str]) -> Result<PageOrigins, NotAnOrigin> {
        PageOrigins::parse(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn origins_have_a_scheme_and_a_host_and_no_path() {
        assert_eq!(parse(&[]), Ok(PageOrigins::default()));
        assert_eq!(parse(&["*"]), Ok(PageOrigins::Any));
        let two = ["https://grafana.example", "http://[::1]:3000"];
        assert_eq!(parse(&two), Ok(PageOrigins::These(two.map(str::to_owned).to_vec())));
        for wrong in ["grafana", "https://", "https://a/", "ftp://a", "https://*.example", "https://a b", ""]
        {
            assert_eq!(parse(&["http://a", wrong]), Err(NotAnOrigin(wrong.to_owned())));
        }
        assert!(parse(&["*", "http://a"]).is_err());
    }
}
