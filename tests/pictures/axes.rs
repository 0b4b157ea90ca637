//! Axes, ticks and labels are those that graphite-web draws: of thirty typical graphs, as capture.py took them from it.

use serde_json::Value;

use crate::golden::server;

/// Pixels that something may be off: our letters are measured in fractions of pixels, graphite-web's in whole ones.
const TOLERANCE: f64 = 7.0;

/// Colours that only the grid has.
const MAJOR: &str = "ff0001";
const MINOR: &str = "ff0002";

/// A text of an SVG.
#[derive(Debug)]
struct Text {
    text: String,
    x: f64,
    anchor: String,
}

#[test]
fn axes_are_those_of_graphite_web() {
    let known: Value = serde_json::from_str(include_str!("axes.json")).unwrap();
    let graphs = known["graphs"].as_array().unwrap();
    assert!(graphs.len() >= 30, "{}", graphs.len());
    let wrong: Vec<String> = graphs
        .iter()
        .flat_map(|graph| {
            let query = graph["query"].as_str().unwrap();
            let wrong = compare(graph, &drawn(query));
            wrong.into_iter().map(move |what| format!("{query}: {what}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn hours_of_two_days_have_dates() {
    let svg = drawn(
        "target=sin(\"wave\",5,60)&from=1794787200&until=1794873600&width=1200&height=300&tz=Asia/Kolkata",
    );
    let found: Vec<String> =
        texts(&svg).into_iter().map(|text| text.text).filter(|text| is_date(text)).collect();
    assert_eq!(found, ["2026-11-16", "2026-11-17"]);
}

fn drawn(query: &str) -> String {
    let query: String = query.replace(' ', "%20").replace('"', "%22");
    let colours = format!("majorGridLineColor={MAJOR}&minorGridLineColor={MINOR}");
    String::from_utf8(server::bytes(&format!("/render?format=svg&{query}&{colours}"))).unwrap()
}

/// What is not as in graphite-web.
fn compare(theirs: &Value, svg: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let texts = texts(svg);
    let side = |align: &str, anchor: &str| {
        let theirs: Vec<(&str, f64)> = theirs["texts"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|text| text[3] == align)
            .map(|text| (text[0].as_str().unwrap(), text[1].as_f64().unwrap()))
            .collect();
        // Below the axes, names begin at the left, like the labels of a right axis.
        let ours: Vec<(&str, f64)> = texts
            .iter()
            .filter(|text| text.anchor == anchor && !is_date(&text.text) && !is_title(&text.text))
            .map(|text| (text.text.as_str(), text.x))
            .collect();
        (theirs, ours)
    };
    for (what, align, anchor) in
        [("left", "right", "end"), ("time", "center", "middle"), ("right", "left", "start")]
    {
        let (theirs, ours) = side(align, anchor);
        let names =
            |side: &[(&str, f64)]| side.iter().map(|(text, _)| (*text).to_owned()).collect::<Vec<_>>();
        if names(&theirs) != names(&ours) {
            wrong.push(format!("{what}: {:?}, not {:?}", names(&ours), names(&theirs)));
            continue;
        }
        // Beside the end of the axis, ours move inwards instead of being cut off.
        let reach = if what == "time" { 2.0 * TOLERANCE } else { TOLERANCE };
        let far = theirs.iter().zip(&ours).filter(|((_, theirs), (_, ours))| (theirs - ours).abs() > reach);
        wrong.extend(far.map(|(theirs, ours)| format!("{what}: {ours:?} is not near {theirs:?}")));
    }
    for (name, colour) in [("major", MAJOR), ("minor", MINOR)] {
        let list =
            |value: &Value| value.as_array().unwrap().iter().filter_map(Value::as_f64).collect::<Vec<_>>();
        let mut ours = uprights(svg, colour);
        if name == "major" {
            // The borders of the area come last.
            ours.truncate(ours.len().saturating_sub(2));
        }
        let theirs = list(&theirs[name]);
        let far = theirs.iter().zip(&ours).any(|(theirs, ours)| (theirs - ours).abs() > TOLERANCE);
        if far || theirs.len() != ours.len() {
            wrong.push(format!("{name} lines at {ours:?}, not {theirs:?}"));
        }
    }
    wrong
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-'
}

/// Titles, and names in the legend.
fn is_title(text: &str) -> bool {
    text.contains("servers")
        || text.contains("gd.")
        || ["percent", "wave", "web01", "web02", "db01", "Cache-1"].contains(&text)
        || text.contains("series; hideLegend")
}

fn texts(svg: &str) -> Vec<Text> {
    let elements = svg.split("<text ").skip(1);
    let read = |element: &str| {
        let (head, rest) = element.split_once('>').unwrap();
        let text = rest.split_once("</text>").unwrap().0.replace("&quot;", "\"");
        Text {
            text,
            x: attribute(head, "x").parse().unwrap(),
            anchor: attribute(head, "text-anchor").to_owned(),
        }
    };
    elements.map(read).collect()
}

fn attribute<'t>(head: &'t str, name: &str) -> &'t str {
    let begin = format!("{name}=\"");
    let at = head.find(&begin).unwrap_or_else(|| panic!("no {name} in {head}")) + begin.len();
    head[at..].split_once('"').unwrap().0
}

/// Where lines of a colour go up.
fn uprights(svg: &str, colour: &str) -> Vec<f64> {
    let of_colour =
        svg.split("<path ").skip(1).filter(|path| path.contains(&format!("stroke=\"#{colour}\"")));
    let lines = of_colour
        .flat_map(|path| attribute(path, "d").split('M').skip(1).map(str::to_owned).collect::<Vec<_>>());
    lines
        .filter_map(|line| {
            let (from, to) = line.split_once('L')?;
            let x = |point: &str| point.split(' ').next()?.parse::<f64>().ok();
            let (from, to) = (x(from)?, x(to)?);
            (from == to).then_some(from)
        })
        .collect()
}
