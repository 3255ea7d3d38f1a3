//! Keys from an address: one GET, within a time and a size.

use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::Uri;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;

use crate::access::limits::JWKS_BYTES_MAX;
use crate::tls;

/// Seconds that an address may take to tell its keys.
const JWKS_TIMEOUT_S: u64 = 5;

/// An address that is asked now and then. Redirects are not followed.
#[derive(Debug)]
pub(super) struct KeySetAddress {
    uri: Uri,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
}

impl KeySetAddress {
    /// `ca_file`: whom to believe; without it whom the machine believes.
    ///
    /// # Errors
    /// It is no address, or no authority can be used.
    pub(super) fn new(address: &str, ca_file: Option<&Path>) -> Result<KeySetAddress, String> {
        let uri: Uri = address.parse().map_err(|_| format!("'{address}' is no address"))?;
        let tls = match uri.scheme_str() {
            Some("https") => tls::settings(ca_file)?,
            _ => tls::none(),
        };
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        // It is asked every few minutes; a connection kept so long is mostly gone.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(KeySetAddress { uri, client })
    }

    /// # Errors
    /// In words for the log: no answer in time, another status than 200, more bytes than a set of keys has.
    pub(super) async fn get(&self) -> Result<Vec<u8>, String> {
        let work = async {
            let response = self.client.get(self.uri.clone()).await.map_err(|error| words(&error))?;
            if response.status() != 200 {
                return Err(format!("it answers with status {}", response.status().as_u16()));
            }
            let body = Limited::new(response.into_body(), JWKS_BYTES_MAX).collect().await;
            Ok(body.map_err(|error| words(&*error))?.to_bytes().to_vec())
        };
        let late = |_| format!("it does not answer within {JWKS_TIMEOUT_S} s");
        timeout(Duration::from_secs(JWKS_TIMEOUT_S), work).await.map_err(late)?
    }
}

/// An error with its causes.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
