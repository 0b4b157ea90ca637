//! Questions with their answers: reads the `.test` language that README.md describes.

/// Request parameters, in order.
pub(crate) type Options = Vec<(String, String)>;

/// What a case asks.
#[derive(Debug)]
pub(crate) enum Question {
    /// Targets with the parameters of their request.
    Eval(Options),
    /// A text of the time grammar, with `now` and `tz`.
    Time(String, Options),
    /// A path with its query.
    Get(String),
}

/// One question and what graphite-web answered.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) line: usize,
    /// The question as written.
    pub(crate) text: String,
    pub(crate) question: Question,
    /// Why we answer otherwise on purpose.
    pub(crate) differs: Option<String>,
    /// The lines of the answer without their indentation of two.
    pub(crate) answer: Vec<String>,
}

/// The cases of any file but `data.test`.
pub(crate) fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut defaults = Options::new();
    for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
        if let Some(rest) = line.strip_prefix("  ") {
            answer_line(cases.last_mut().expect("a question before an answer"), rest);
            continue;
        }
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let question = match verb {
            "set" => {
                defaults = options(rest);
                continue;
            }
            "eval" => eval(&defaults, rest),
            "time" => Question::Time(rest.to_owned(), defaults.clone()),
            "get" => Question::Get(rest.to_owned()),
            _ => panic!("line {}: `{verb}` is no verb", number + 1),
        };
        let text = line.to_owned();
        cases.push(Case { line: number + 1, text, question, differs: None, answer: Vec::new() });
    }
    cases
}

fn answer_line(case: &mut Case, line: &str) {
    if let Some(target) = line.strip_prefix("and target=") {
        case.text.push_str(&format!(" {line}"));
        let Question::Eval(options) = &mut case.question else {
            panic!("line {}: only eval has targets", case.line)
        };
        options.push(("target".to_owned(), target.to_owned()));
    } else if let Some(reason) = line.strip_prefix("differs ") {
        case.differs = Some(reason.to_owned());
    } else {
        case.answer.push(line.to_owned());
    }
}

fn eval(defaults: &[(String, String)], rest: &str) -> Question {
    let (head, target) = rest.split_once("target=").expect("eval has a target");
    let mut merged = options(head);
    for default in defaults {
        if !merged.iter().any(|(key, _)| *key == default.0) {
            merged.push(default.clone());
        }
    }
    merged.push(("target".to_owned(), target.to_owned()));
    Question::Eval(merged)
}

fn options(words: &str) -> Options {
    let pairs = words.split_whitespace().map(|word| word.split_once('=').expect("key=value"));
    pairs.map(|(key, value)| (key.to_owned(), percent_decode(value))).collect()
}

/// `%20` becomes a blank.
fn percent_decode(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).expect("two hex digits after %"));
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).expect("UTF-8")
}
