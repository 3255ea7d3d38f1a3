//! What `http` knows of a request that belongs into the audit trail: who, from where, and under which id. Contract 7.8.

use std::net::IpAddr;

use hyper::header::HeaderValue;
use hyper::http::request::Parts;

use super::handed_on::{CLIENT, ISSUE, USERID};
use super::sender::Dropped;
use super::wanted::Wanted;
use crate::interaction::Instance;
use crate::interaction::context::{Context, Event, HeaderText, Identity, Method};

/// Notes where a request comes from: `client` is the address that the log shows too. What X-Road's headers say is claimed; one with control characters, which is refused, is left out.
pub fn note(event: &mut Event, parts: &Parts, client: Option<IpAddr>, wanted: &Wanted) {
    let claimed = |value: Option<&HeaderValue>| {
        let text = HeaderText::new(value?.as_bytes());
        (!text.has_control()).then(|| text.text())
    };
    event.trace = wanted.request_id.as_str().to_owned();
    event.from.ip = client.map(|client| client.to_string());
    event.from.x_road_id = claimed(wanted.x_road_id.as_ref());
    if parts.headers.keys().any(|name| name.as_str().starts_with("x-road-")) {
        event.from.x_road_client = claimed(parts.headers.get(CLIENT));
        event.from.x_road_issue = claimed(parts.headers.get(ISSUE));
        event.from.x_road_user = claimed(parts.headers.get(USERID));
    }
    event.from.x_road_dropped = parts.extensions.get::<Dropped>().map(|dropped| dropped.0.clone());
    // The query of a search says whom it was about, also when nothing was found.
    event.query = parts.uri.query().filter(|query| !query.is_empty()).map(str::to_owned);
}

/// Notes what a path names that leads nowhere.
pub fn note_path(event: &mut Event, kind: &str, id: &Instance) {
    match (kind, id.known()) {
        ("Composition", Some(id)) => event.entities.push((id, None)),
        ("Patient", _) => event.patients.push(id.to_string()),
        _ => {}
    }
}

/// Notes who calls.
pub fn name(event: &mut Event, identity: &Identity) {
    event.method = Method::Token;
    event.who.person = Some(identity.person.clone());
    event.who.given_name.clone_from(&identity.given_name);
    event.who.family_name.clone_from(&identity.family_name);
    event.who.roles.clone_from(&identity.roles);
    event.who.organization.clone_from(&identity.organization);
    event.who.represented_party.clone_from(&identity.represented_party);
    event.who.application.clone_from(&identity.application);
    event.who.session = Some(identity.session.clone());
}

/// Writes what the trail will want to know into the context of a change, which keeps it with the change itself.
pub fn keep(context: &mut Context, event: &Event) {
    if context.who.trace.is_none() {
        return;
    }
    let more = context.who.particulars.get_or_insert_default();
    more.given_name.clone_from(&event.who.given_name);
    more.family_name.clone_from(&event.who.family_name);
    more.represented_party.clone_from(&event.who.represented_party);
    more.session.clone_from(&event.who.session);
    more.application.clone_from(&event.who.application);
    more.address.clone_from(&event.from.ip);
    more.x_road_client.clone_from(&event.from.x_road_client);
    more.x_road_issue.clone_from(&event.from.x_road_issue);
    more.x_road_userid.clone_from(&event.from.x_road_user);
    more.x_road_dropped.clone_from(&event.from.x_road_dropped);
}

/// Notes the parameters that came in a form.
pub fn note_form(event: &mut Event, form: &str) {
    let query = event.query.get_or_insert_default();
    if !query.is_empty() {
        query.push('&');
    }
    query.push_str(form);
}
