//! A request as it arrived, and what its head says: each fact is read here, once, and whatever comes later takes it from here.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::http::request::Parts;
use tokio::time::Instant as Deadline;

use super::answer_form::AnswerForm;
use super::clients::CountedFor;
use super::connection::Connection;
use super::exchanges::KeptBody;
use super::media::{self, MediaTypes};
use super::query::{self, Pair};
use super::route::{self, Route};
use super::settings::HttpSettings;
use super::x_road::{self, PathTarget, XRoadFault};
use super::{audit_record, guard, proxy, sender};
use crate::interaction::context::{NamedCollector, NamedKeys, RequestSource};
use crate::interaction::{Identity, InteractionKind};
use crate::turns::ClientKey;
use fhir::outcome::{Hcert, Issue};

/// Where a request comes from.
#[derive(Clone, Debug)]
pub struct RequestOrigin {
    pub peer: Option<IpAddr>,
    /// Its connection, where it came by one.
    pub connection: Option<Arc<Connection>>,
    pub offer: AddressOffer,
}

/// What there is at the address that a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressOffer {
    /// The API, and nothing for a person before a browser: `hcert serve`.
    Api,
    /// Pages and nothing else: `console.listen`.
    Pages,
    /// `hcert dev`
    Both,
}

/// The head of a request and its meaning.
pub struct RequestHead {
    pub at: Instant,
    pub parts: Parts,
    pub origin: RequestOrigin,
    pub route: Route,
    /// Bytes of the path that are the base path of a service of X-Road; nothing where the base path is the setting's.
    x_road_base: Option<usize>,
    /// The address that the log and the trail show.
    pub client: Option<IpAddr>,
    /// Whom the bounds on clients count it for.
    pub counted: Option<CountedFor>,
    /// Why `hcert dev` does not let its sender in.
    pub let_in: Result<(), Issue>,
}

/// Longer than any request takes: what became of a change is told, however long it takes.
const NO_DEADLINE: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// What else is known of a request, and what becomes known on its way. Its answer and its event are made of it, however it ends.
pub struct RequestFacts {
    /// The form that its answer is wanted in.
    pub wanted: AnswerForm,
    /// Where it comes from, for the audit trail; nothing where none is kept.
    pub from: Option<RequestSource>,
    pub identity: Option<Arc<Identity>>,
    /// Whom its parameters name.
    pub named: NamedKeys,
    /// Whom the interaction named beside them.
    pub met: Option<NamedCollector>,
    /// The parameters that came in its body, as they were sent.
    pub form: Option<String>,
    /// When its client is told that it took too long.
    pub deadline: Deadline,
    /// What is measured and kept of it for people; nothing where nobody looks.
    pub watched: Option<Box<WatchedRequest>>,
}

/// What people who watch are told of a request beside its head.
#[derive(Debug, Default)]
pub struct WatchedRequest {
    /// Whether its exchange is kept.
    pub is_kept: bool,
    /// Whether its body is kept with it.
    pub keeps_body: bool,
    pub body: KeptBody,
    /// How long its body took to arrive.
    pub received: Duration,
    /// How long the interaction took.
    pub ran: Duration,
}

/// What a query says of the answer itself, and its pairs.
pub struct RequestQuery {
    /// What is wrong with the request as a message of HTTP stands here too: it is told where a wrong query would be.
    pub pairs: Result<Vec<Pair>, Issue>,
    pub media: Result<MediaTypes, Issue>,
    pub pretty: Result<bool, Issue>,
}

impl RequestHead {
    /// Reads a head. `formed` says what is wrong with it as a message; `keeps_trail`, whether an audit trail is kept.
    pub fn read(
        settings: &HttpSettings,
        parts: Parts,
        origin: RequestOrigin,
        formed: Result<(), Issue>,
        keeps_trail: bool,
    ) -> (RequestHead, RequestQuery, RequestFacts) {
        let at = Instant::now();
        let (path, method) = (parts.uri.path(), &parts.method);
        let gives_out_tokens = settings.tokens.as_ref().is_some_and(|tokens| tokens.are_given_out());
        let (route, x_road_base) = match x_road::place(settings, path) {
            PathTarget::Fhir(base) => {
                let is_of_setting = !x_road::is_by(&parts);
                (route::route(base, method, path), (!is_of_setting).then_some(base.len()))
            }
            // On a path of ours that is not there, our own words tell so; on one of X-Road, X-Road's.
            PathTarget::Token if gives_out_tokens || !x_road::is_by(&parts) => (Route::TokenService, None),
            PathTarget::Token => (Route::Fault(XRoadFault::UnknownService), None),
            PathTarget::Fault(fault) => (Route::Fault(fault), None),
        };
        let offers_pdf = matches!(&route, Route::To(interaction) if interaction.kind() == InteractionKind::Pdf);
        let mut query = RequestQuery::read(settings, &parts, offers_pdf);
        let mut wanted = AnswerForm::new(method, &parts.headers);
        wanted.media = query.media.clone().unwrap_or_default();
        if matches!(&route, Route::To(interaction) if interaction.kind() == InteractionKind::ApiDescription) {
            // It is no FHIR.
            wanted.media = MediaTypes::Json;
        }
        wanted.pretty = query.pretty.clone().unwrap_or_default();
        wanted.x_road_id = x_road::id(&parts);
        if let Err(issue) = formed {
            query.pairs = Err(issue);
        }
        let client = proxy::logged(settings, &parts, origin.peer);
        let from = keeps_trail.then(|| audit_record::from(&parts, client, wanted.x_road_id.as_ref()));
        let head = RequestHead {
            client,
            counted: sender::counted_for(settings, &parts, origin.peer),
            let_in: guard::check(settings, &parts),
            at,
            route,
            x_road_base,
            origin,
            parts,
        };
        let time_left = if head.may_change() { NO_DEADLINE } else { settings.request_timeout };
        let deadline = Deadline::now() + time_left;
        let is_kept = settings.exchanges.as_ref().is_some_and(|exchanges| exchanges.is_watched());
        let watched = (is_kept || settings.is_developer).then(|| {
            let keeps_body = is_kept && settings.is_developer;
            Box::new(WatchedRequest { is_kept, keeps_body, ..WatchedRequest::default() })
        });
        let named = NamedKeys::default();
        let known = RequestFacts { wanted, from, identity: None, named, met: None, form: None, deadline, watched };
        (head, query, known)
    }

    /// The base path that the request came by: the setting's, or one of X-Road.
    pub fn base_path<'a>(&'a self, settings: &'a HttpSettings) -> &'a str {
        self.x_road_base.map_or(&settings.base_path, |bytes| &self.parts.uri.path()[..bytes])
    }

    /// The client that it is counted for. `None`: this machine itself.
    pub fn client_key(&self) -> Option<ClientKey> {
        self.counted.map(|counted| counted.client)
    }

    pub fn query_bytes(&self) -> usize {
        self.parts.uri.query().map_or(0, str::len)
    }

    /// Whether it may change something.
    pub fn may_change(&self) -> bool {
        matches!(&self.route, Route::To(interaction) if interaction.may_change())
    }
}

impl RequestQuery {
    pub fn read(settings: &HttpSettings, parts: &Parts, offers_pdf: bool) -> RequestQuery {
        let text = parts.uri.query().unwrap_or_default();
        let bytes_max = settings.query_bytes_max;
        let pairs = if text.len() > bytes_max {
            Err(Issue::new(Hcert::QueryTooLong).with("max", bytes_max.to_string()))
        } else {
            query::pairs(text)
        };
        let known = pairs.as_deref().unwrap_or_default();
        let media = media::wanted(&parts.headers, query::format(known), offers_pdf);
        RequestQuery { media, pretty: query::pretty(known), pairs }
    }
}
