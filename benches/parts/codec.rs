//! The codec of chunks: size and speed by the shape of the data.

use plumbago::store::embedded::codec::{Chunk, Encoder};

/// Prints bytes per value, and values per second to encode and decode.
pub(crate) fn run() {
    for slots in [12, 120, 360, 1440] {
        let row: Vec<u32> = (0..slots as u32).collect();
        let mix = mixed(1000, slots);
        for (name, kind) in [("constant", 0..2), ("counter", 2..5), ("gauge", 5..10), ("mix", 0..10)] {
            let data: Vec<_> = mix
                .iter()
                .enumerate()
                .filter(|(i, _)| kind.contains(&(i % 10)))
                .map(|(_, values)| values.clone())
                .collect();
            measure_speed(name, &row, &data);
        }
        let noise: Vec<Vec<f64>> =
            mix.iter().map(|values| values.iter().map(|v| v.sin()).collect()).collect();
        measure_speed("noise", &row, &noise);
    }
}

/// The best of several rounds, since the machine may have other work.
fn measure_speed(name: &str, slots: &[u32], data: &[Vec<f64>]) {
    let total = data.len() * slots.len();
    let mut encoder = Encoder::new();
    let mut window = vec![f64::NAN; slots.len()];
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let (mut encoding, mut decoding) = (f64::MAX, f64::MAX);
    for _ in 0..20_000_000 / total + 1 {
        let start = std::time::Instant::now();
        bytes.clear();
        ends.clear();
        for values in data {
            encoder.encode(slots, values, None, &mut bytes).unwrap();
            ends.push(bytes.len());
        }
        encoding = start.elapsed().as_secs_f64().min(encoding);
        let start = std::time::Instant::now();
        let mut from = 0;
        for &end in &ends {
            Chunk::parse(&bytes[from..end]).unwrap().decode_window(0, &mut window, None).unwrap();
            std::hint::black_box(&window);
            from = end;
        }
        decoding = start.elapsed().as_secs_f64().min(decoding);
    }
    let millions = total as f64 / 1e6;
    let per_value = bytes.len() as f64 / total as f64;
    let (encode, decode) = (millions / encoding, millions / decoding);
    let count = slots.len();
    println!(
        "{count:5} slots {name:9} {per_value:5.2} B/value  encode {encode:4.0} M/s  decode {decode:4.0} M/s"
    );
}

/// The usual mix: 20 % constants, 30 % counters, 50 % noisy gauges with two decimals.
fn mixed(metrics: usize, slots: usize) -> Vec<Vec<f64>> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    (0..metrics)
        .map(|metric| match metric % 10 {
            0 | 1 => vec![random(1000) as f64; slots],
            2..=4 => {
                let start = random(1 << 30);
                let steps: Vec<u64> = (0..slots).map(|_| random(100)).collect();
                counter(start, &steps)
            }
            _ => {
                let level = random(9000);
                (0..slots).map(|_| (level + random(1000)) as f64 / 100.0).collect()
            }
        })
        .collect()
}

fn counter(start: u64, steps: &[u64]) -> Vec<f64> {
    steps.iter().scan(start, |sum, step| Some(std::mem::replace(sum, *sum + step) as f64)).collect()
}
