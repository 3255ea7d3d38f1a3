//! One line: a version with the request that made it.

use certificate::{Id, Stamp, State, Version};
use engine::StoredVersion;
use fhir::date_time;
use fhir::json::Json;

/// Writes a stored version as one line, with its line feed.
pub fn write(out: &mut Vec<u8>, stored: &StoredVersion) {
    let StoredVersion { id, version, stamp, .. } = stored;
    let (method, url, status) = match (stored.state, *version) {
        (State::Deleted, _) => ("DELETE", format!("Composition/{id}"), "204"),
        (_, Version::FIRST) => ("POST", "Composition".to_owned(), "201"),
        _ => ("PUT", format!("Composition/{id}"), "200"),
    };
    out.extend_from_slice(format!("{{\"fullUrl\":\"Composition/{id}\",").as_bytes());
    if !stored.resource.is_empty() {
        out.extend_from_slice(b"\"resource\":");
        out.extend_from_slice(&stored.resource);
        out.push(b',');
    }
    out.extend_from_slice(format!("\"request\":{{\"method\":\"{method}\",\"url\":\"{url}\"}},").as_bytes());
    out.extend_from_slice(
        format!("\"response\":{{\"status\":\"{status}\",\"etag\":\"W/\\\"{version}\\\"\",\"lastModified\":\"")
            .as_bytes(),
    );
    date_time::write_instant(out, stamp.milliseconds, stamp.offset_minutes);
    out.extend_from_slice(b"\"}}\n");
}

/// What a line asks for.
#[derive(Debug)]
pub enum ImportLine<'a> {
    /// A version that keeps its id, number and time. No resource: a deletion.
    Version { id: Id, version: Version, stamp: Stamp, resource: Option<Json<'a>> },
    /// A certificate without history: it is created.
    New(Json<'a>),
}

/// Reads a line.
///
/// # Errors
/// What is missing or wrong, in words.
pub fn read(json: Json<'_>) -> Result<ImportLine<'_>, String> {
    if json.text("resourceType").is_some() {
        return bare(json);
    }
    let Json::Object(mut entry) = json else { return Err("a line must be a JSON object".into()) };
    let resource = entry.remove("resource");
    let entry = Json::Object(entry);
    let response = entry.get("response");
    let etag = response.and_then(|response| response.text("etag"));
    let time = response.and_then(|response| response.text("lastModified"));
    let from_full_url = entry.text("fullUrl").and_then(|url| url.rsplit_once("Composition/")).map(|(_, id)| id);
    let inside = resource.as_ref();
    let meta = inside.and_then(|resource| resource.get("meta"));
    let id = inside.and_then(|resource| resource.text("id")).or(from_full_url).ok_or("the entry has no id")?;
    let id = Id::parse(id).ok_or_else(|| format!("'{id}' is not an id of this service (a decimal number)"))?;
    let number =
        meta.and_then(|meta| meta.text("versionId")).or(etag.and_then(inside_tag)).ok_or("the entry has no version")?;
    let version =
        Version::parse(number).ok_or_else(|| format!("'{number}' is not a version (a decimal number from 1)"))?;
    let time =
        meta.and_then(|meta| meta.text("lastUpdated")).or(time).ok_or("the entry has no time (meta.lastUpdated)")?;
    let stamp = stamp(time)?;
    let method = entry.get("request").and_then(|request| request.text("method"));
    match (&resource, method) {
        (Some(_), Some("DELETE")) => Err("a deletion has no resource".into()),
        (None, method) if method != Some("DELETE") => {
            Err("the entry has no resource, and its request is no DELETE".into())
        }
        _ => Ok(ImportLine::Version { id, version, stamp, resource }),
    }
}

fn bare(json: Json<'_>) -> Result<ImportLine<'_>, String> {
    let meta = json.get("meta");
    let number = meta.and_then(|meta| meta.text("versionId"));
    let time = meta.and_then(|meta| meta.text("lastUpdated"));
    let (Some(id), Some(number), Some(time)) = (json.text("id"), number, time) else {
        return Ok(ImportLine::New(json));
    };
    let id = Id::parse(id).ok_or_else(|| format!("'{id}' is not an id of this service (a decimal number)"))?;
    let version =
        Version::parse(number).ok_or_else(|| format!("'{number}' is not a version (a decimal number from 1)"))?;
    let stamp = stamp(time)?;
    Ok(ImportLine::Version { id, version, stamp, resource: Some(json) })
}

fn inside_tag(etag: &str) -> Option<&str> {
    etag.trim_start_matches("W/").strip_prefix('"')?.strip_suffix('"')
}

fn stamp(time: &str) -> Result<Stamp, String> {
    let span = date_time::span(time).map_err(|_| format!("'{time}' is not a time"))?;
    Ok(Stamp::at(span.low))
}
