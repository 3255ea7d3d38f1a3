//! What `http` knows of a request that belongs into the audit trail: who, from where, and under which id. Contract 7.8.

use std::net::IpAddr;

use hyper::header::HeaderValue;
use hyper::http::request::Parts;

use super::forwarded_headers::{CLIENT, ISSUE, USERID};
use super::header::{self, IF_NONE_EXIST};
use super::query::decode;
use super::sender::DroppedHeaders;
use crate::interaction::Instance;
use crate::interaction::context::{
    AuditAction, AuditEvent, AuthenticationMethod, HeaderText, Identity, RequestContext, RequestSource,
};

/// Where a request comes from: `client` is the address that the log shows too. What X-Road's headers say is claimed; one with control
/// characters, which is refused, is left out.
pub fn from(parts: &Parts, client: Option<IpAddr>, x_road_id: Option<&HeaderValue>) -> RequestSource {
    let claimed = |value: Option<&HeaderValue>| {
        let text = HeaderText::new(value?.as_bytes());
        (!text.has_control()).then(|| text.text())
    };
    let mut from = RequestSource {
        ip: client.map(|client| client.to_string()),
        x_road_id: claimed(x_road_id),
        x_road_dropped: parts.extensions.get::<DroppedHeaders>().map(|dropped| dropped.0.clone()),
        ..RequestSource::default()
    };
    if parts.headers.keys().any(|name| name.as_str().starts_with("x-road-")) {
        from.x_road_client = claimed(parts.headers.get(CLIENT));
        from.x_road_issue = claimed(parts.headers.get(ISSUE));
        from.x_road_user = claimed(parts.headers.get(USERID));
    }
    from
}

/// Notes the parameters of a request: those of its query, those of its form, and those of the condition of a create. A search's say whom it
/// was about, also when nothing was found.
pub fn note_parameters(event: &mut AuditEvent, parts: &Parts, form: Option<String>) {
    let query = parts.uri.query().filter(|query| !query.is_empty()).map(str::to_owned).map(without_token);
    let form = form.map(without_token);
    let is_create = event.action == AuditAction::CompositionCreate;
    let condition = is_create.then(|| header::joined(&parts.headers, &IF_NONE_EXIST).ok()).flatten();
    let condition = condition.filter(|condition| !condition.is_empty());
    event.query = [query, form, condition].into_iter().flatten().reduce(|before, more| before + "&" + &more);
}

/// A query without the access token that RFC 6750 would let it carry: the trail is read by others, for whom it would open what its owner may
/// do.
fn without_token(query: String) -> String {
    let is_token = |part: &str| {
        let name = part.split('=').next().unwrap_or_default();
        name == "access_token" || name.contains('%') && decode(name, true).as_deref() == Some("access_token")
    };
    if !query.split('&').any(is_token) {
        return query;
    }
    let kept = query.split('&').map(|part| if is_token(part) { "access_token=(left out)" } else { part });
    kept.collect::<Vec<_>>().join("&")
}

/// Notes what a path names that leads nowhere.
pub fn note_path(event: &mut AuditEvent, kind: &str, id: &Instance) {
    match (kind, id.known()) {
        ("Composition", Some(id)) => event.entities.push((id, None)),
        ("Patient", _) => event.patients.push(id.to_string()),
        _ => {}
    }
}

/// Notes who calls.
pub fn name(event: &mut AuditEvent, identity: &Identity) {
    event.method = AuthenticationMethod::Token;
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
pub fn keep(context: &mut RequestContext, from: &RequestSource) {
    if context.who.trace.is_none() {
        return;
    }
    let more = context.who.particulars.get_or_insert_default();
    if let Some(identity) = &context.identity {
        more.given_name.clone_from(&identity.given_name);
        more.family_name.clone_from(&identity.family_name);
        more.represented_party.clone_from(&identity.represented_party);
        more.session = Some(identity.session.clone());
        more.application.clone_from(&identity.application);
    }
    more.address.clone_from(&from.ip);
    more.x_road_client.clone_from(&from.x_road_client);
    more.x_road_issue.clone_from(&from.x_road_issue);
    more.x_road_userid.clone_from(&from.x_road_user);
    more.x_road_dropped.clone_from(&from.x_road_dropped);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was seen: whoever may read the trail found tokens in it that were still good.
    #[test]
    fn an_access_token_of_a_query_is_not_written_down() {
        for (sent, kept) in [
            ("status=final", "status=final"),
            ("status=final&access_token=e.y.J", "status=final&access_token=(left out)"),
            ("access%5Ftoken=%zz&a=access_token", "access_token=(left out)&a=access_token"),
            ("my_access_token=1&", "my_access_token=1&"),
        ] {
            assert_eq!(without_token(sent.to_owned()), kept);
        }
    }
}
