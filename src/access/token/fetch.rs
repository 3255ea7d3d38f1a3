//! An address of the issuer: one request at a time, within a time and a size.

use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;

use crate::tls;

/// Seconds that an address may take to answer.
const ISSUER_TIMEOUT_S: u64 = 5;

/// An address that is asked now and then. Redirects are not followed.
#[derive(Debug)]
pub(super) struct IssuerAddress {
    uri: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl IssuerAddress {
    /// `ca_file`: whom to believe; without it whom the machine believes.
    ///
    /// # Errors
    /// It is no address, or no authority can be used.
    pub(super) fn new(address: &str, ca_file: Option<&Path>) -> Result<IssuerAddress, String> {
        let uri: Uri = address.parse().map_err(|_| format!("'{address}' is no address"))?;
        let tls = match uri.scheme_str() {
            Some("https") => tls::settings(ca_file)?,
            _ => tls::none(),
        };
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        // It is asked every few minutes, and a connection kept so long is mostly gone; on a kept one, an answer that comes too late would
        // give somebody the token of another.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(IssuerAddress { uri, client })
    }

    /// What it has, in at most `bytes_max` bytes.
    ///
    /// # Errors
    /// In words for the log: no answer in time, another status than 200, more bytes.
    pub(super) async fn get(&self, bytes_max: usize) -> Result<Vec<u8>, String> {
        let request = Request::get(self.uri.clone()).body(Full::default()).expect("its address was read before");
        match self.ask(request, bytes_max).await? {
            (200, body) => Ok(body),
            (status, _) => Err(format!("it answers with status {status}")),
        }
    }

    /// Status and body of its answer to a form.
    ///
    /// # Errors
    /// In words for the log: no answer in time, more bytes than `bytes_max`.
    pub(super) async fn post(
        &self,
        form: String,
        authorization: Option<&HeaderValue>,
        bytes_max: usize,
    ) -> Result<(u16, Vec<u8>), String> {
        let request = Request::post(self.uri.clone()).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = authorization.into_iter().fold(request, |request, value| request.header(AUTHORIZATION, value));
        let request = request.header(ACCEPT, "application/json").body(Full::from(form));
        self.ask(request.expect("its parts are right by themselves"), bytes_max).await
    }

    async fn ask(&self, request: Request<Full<Bytes>>, bytes_max: usize) -> Result<(u16, Vec<u8>), String> {
        let work = async {
            let response = self.client.request(request).await.map_err(|error| words(&error))?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), bytes_max).collect().await;
            Ok((status, body.map_err(|error| words(&*error))?.to_bytes().to_vec()))
        };
        let late = |_| format!("it does not answer within {ISSUER_TIMEOUT_S} s");
        timeout(Duration::from_secs(ISSUER_TIMEOUT_S), work).await.map_err(late)?
    }
}

/// An error with its causes.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
