//! Comma-separated positions, as positioning tools export them.

use lasthop_engine::math::cos;

use super::{Sample, Samples, TrackError, wrong};

/// Mean radius of the Earth [m] (IUGG).
const EARTH: f64 = 6_371_008.8;

/// Columns by their names.
struct Columns {
    node: Option<usize>,
    time: usize,
    x: usize,
    y: usize,
    degrees: bool,
}

/// Reads a header and a row for each place. Degrees are projected around the first place of the
/// file, which becomes the origin: x to the east, y to the north; over 10 km that is good to a few
/// metres.
pub(super) fn read(text: &str) -> Result<Samples, TrackError> {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
    let Some((_, header)) = lines.next() else { return wrong(1, "an empty file", "a header and rows") };
    let columns = columns(header)?;
    let mut samples = Samples::new();
    let mut origin = None;
    for (i, line) in lines {
        let cells: Vec<&str> = line.split(',').map(|c| c.trim().trim_matches('"')).collect();
        let cell = |column: usize| match cells.get(column) {
            Some(text) => match text.parse::<f64>() {
                Ok(x) if x.is_finite() => Ok(x),
                _ => wrong(
                    i + 1,
                    format!("`{text}` is no number"),
                    "times are seconds since the start of the run: 12.5",
                ),
            },
            None => wrong(i + 1, format!("{} cells; the header has more", cells.len()), "is the file whole?"),
        };
        let node = match columns.node {
            None => String::new(),
            Some(column) => match cells.get(column) {
                Some(name) if !name.is_empty() => (*name).to_owned(),
                _ => {
                    return wrong(
                        i + 1,
                        "a place without its node",
                        "fill the column, or leave it out for one node",
                    );
                }
            },
        };
        let (t, mut at) = (cell(columns.time)?, [cell(columns.x)?, cell(columns.y)?]);
        if columns.degrees {
            let [lon, lat] = at;
            if lat.abs() > 90.0 || lon.abs() > 180.0 {
                return wrong(
                    i + 1,
                    format!("no place on Earth: latitude {lat}, longitude {lon}"),
                    "are lat and lon exchanged?",
                );
            }
            let [lon0, lat0] = *origin.get_or_insert([lon, lat]);
            let east = (lon - lon0).to_radians() * cos(f64::to_radians(lat0));
            at = [EARTH * east, EARTH * f64::to_radians(lat - lat0)];
        }
        samples.entry(node).or_default().push(Sample { line: i + 1, t, at });
    }
    Ok(samples)
}

fn columns(header: &str) -> Result<Columns, TrackError> {
    let names: Vec<String> = header
        .trim_start_matches('\u{feff}')
        .split(',')
        .map(|c| c.trim().trim_matches('"').to_lowercase())
        .collect();
    let find = |known: &[&str]| names.iter().position(|n| known.contains(&n.as_str()));
    let node = find(&["node", "id", "name", "vehicle", "ue"]);
    if let Some(unit) =
        names.iter().find(|n| ["time_ms", "t_ms", "timestamp_ms", "x_km", "y_km"].contains(&n.as_str()))
    {
        return wrong(
            1,
            format!("`{unit}` is in another unit"),
            "times in seconds and places in metres: convert the column",
        );
    }
    let Some(time) = find(&["time", "t", "time_s", "seconds"]) else {
        return wrong(
            1,
            "no column of times",
            "a header such as `time,x,y`, `node,time,x,y` or `time,lat,lon`",
        );
    };
    let plane = (find(&["x", "x_m"]), find(&["y", "y_m"]));
    let globe = (find(&["lon", "longitude", "lng"]), find(&["lat", "latitude"]));
    match (plane, globe) {
        ((Some(x), Some(y)), _) => Ok(Columns { node, time, x, y, degrees: false }),
        (_, (Some(x), Some(y))) => Ok(Columns { node, time, x, y, degrees: true }),
        _ => wrong(1, "no columns of places", "x and y in metres, or lat and lon in degrees"),
    }
}
