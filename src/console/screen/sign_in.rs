//! Signing in at the issuer, and out again. What an attempt has to remember stays with the browser, sealed.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::access::RefusedToken;
use crate::access::token::{SignInAttempt, SignInClient, SignInFailure, SignInReturn};
use crate::console::session::Session;
use crate::console::sources::SignIn;
use crate::console::visit::{Visit, own_path};
use crate::http::pages::{PAGES_PATH, PageAnswer};
use base::log::event;

/// Where the issuer leads back to, below the pages.
pub const RETURN_PATH: &str = "/signed-in";

/// Names of the cookie of an attempt. The issuer leads back from another site, so it is one that comes along then.
const NAME: &str = "hcert-sign-in";
const NAME_OVER_TLS: &str = "__Secure-hcert-sign-in";

/// Seconds that an attempt may take: long enough to find a card and its code.
const ATTEMPT_S: i64 = 600;

/// What the seal of an attempt is for.
const ATTEMPT_USE: &[u8] = b"hcert console sign-in 1";

/// An attempt, and how its reader goes on.
#[derive(Debug, Serialize, Deserialize)]
struct KeptAttempt {
    attempt: SignInAttempt,
    /// Page to go on with.
    back: String,
    language: Option<String>,
    /// Seconds since 1970 UTC.
    until: i64,
}

/// Whether a path is for those too who are not signed in.
pub(in crate::console) fn is_open(path: &str) -> bool {
    matches!(path, "/sign-in" | RETURN_PATH | "/language")
}

/// The page in place of every other, for those who are not signed in. `refused`: what is wrong with the token they had.
pub(in crate::console) fn required(visit: &Visit<'_>, refused: Option<&RefusedToken>) -> PageAnswer {
    let here = if visit.request.is_form { "/".to_owned() } else { visit.here() };
    if visit.request.is_from_elsewhere && !visit.request.is_form {
        // Who is signed in and follows a link of another site brings no cookie; asked for by a page of ours, the page comes with it.
        return on_the_way(visit, "sign-in.arriving", &visit.href(&here));
    }
    let title = visit.t("sign-in.title");
    let why = refused.map(|refused| match refused {
        RefusedToken::Expired => "sign-in.expired",
        RefusedToken::KeysUnavailable(_) => "sign-in.unavailable",
        _ => "sign-in.refused",
    });
    visit.page(
        title,
        &html! {
            h1 { (title) }
            @if let Some(why) = why { p role="status" { strong { (visit.t(why)) } } }
            p.lead { (visit.t("sign-in.text")) }
            p { a.button.main href=(visit.sign_in_href(&here)) { (visit.t("sign-in.go")) } }
        },
    )
}

/// Leads to the issuer.
pub(in crate::console) fn begin(visit: &Visit<'_>) -> PageAnswer {
    let Some(SignIn { client, .. }) = &visit.sources.sign_in else { return visit.go_to("/") };
    let Some(attempt) = SignInAttempt::begin() else { return failed(visit, "random", "") };
    let address = client.address(&attempt, &visit.texts.language);
    let back = own_path(visit.field("back")).to_owned();
    let until = visit.sources.tokens.now() + ATTEMPT_S;
    let kept = KeptAttempt { attempt, back, language: visit.session.language.clone(), until };
    let sealed = serde_json::to_vec(&kept).ok().and_then(|bytes| visit.key.seal_for(ATTEMPT_USE, bytes).ok());
    let Some(sealed) = sealed else { return failed(visit, "random", "") };
    PageAnswer { cookies: vec![cookie(visit, &sealed, ATTEMPT_S)], ..PageAnswer::go_on(address) }
}

/// Ends the attempt that the issuer leads back from.
pub(in crate::console) async fn complete(visit: &Visit<'_>) -> PageAnswer {
    let Some(SignIn { client, .. }) = &visit.sources.sign_in else { return visit.go_to("/") };
    let mut answer = match completed(visit, client).await {
        Ok(answer) => answer,
        Err(refusal) => refusal,
    };
    // It is over in any case.
    answer.cookies.push(cookie(visit, "", 0));
    answer
}

async fn completed(visit: &Visit<'_>, client: &SignInClient) -> Result<PageAnswer, PageAnswer> {
    let kept = kept(visit);
    let back = SignInReturn {
        state: visit.field("state"),
        code: visit.field("code"),
        error: visit.field("error"),
        issuer: visit.field("iss"),
    };
    let token = client.complete(kept.as_ref().map(|kept| &kept.attempt), back).await;
    let token = token.map_err(|failure| match failure {
        SignInFailure::Attempt => failed(visit, "attempt", ""),
        SignInFailure::Refused(code) => failed(visit, "refused", &code),
        SignInFailure::Busy => failed(visit, "busy", ""),
        SignInFailure::Unreachable(problem) => {
            event!(SIGN_IN_FAILED, problem = problem.as_str());
            failed(visit, "unreachable", "")
        }
        SignInFailure::NoToken(problem) => {
            event!(SIGN_IN_FAILED, problem = problem.as_str());
            failed(visit, "no-token", "")
        }
    })?;
    if let Err(refused) = visit.sources.tokens.identify(&format!("Bearer {token}")).await {
        let problem = format!("the issuer's token is refused: {refused}");
        event!(SIGN_IN_FAILED, problem = problem.as_str());
        return Err(failed(visit, "token", refused.code()));
    }
    let KeptAttempt { back, language, .. } = kept.ok_or_else(|| failed(visit, "attempt", ""))?;
    let session = Session { language, token: Some(token), ..Session::begin() };
    let Some(cookie) = visit.cookie(&session) else {
        event!(SIGN_IN_FAILED, problem = "the issuer's token is larger than a cookie can hold");
        return Err(failed(visit, "large", ""));
    };
    // By a page of ours and not by a redirect: the way from the issuer is one from another site, on which the cookie does not come along.
    let page = on_the_way(visit, "sign-in.done", &visit.href(&back));
    Ok(PageAnswer { cookies: vec![cookie], ..page })
}

/// Forgets who is signed in, here and at the issuer.
pub(in crate::console) fn end(visit: &Visit<'_>) -> PageAnswer {
    let Some(SignIn { client, .. }) = &visit.sources.sign_in else { return visit.go_to("/") };
    let session = Session { language: visit.session.language.clone(), ..Session::begin() };
    let issuer = client.end_session_address(&format!("{PAGES_PATH}/"));
    // By a page too: a browser would not follow a form to the issuer.
    let to = issuer.unwrap_or_else(|| visit.href("/"));
    let page = on_the_way(visit, "sign-out.done", &to);
    PageAnswer { cookies: visit.cookie(&session).into_iter().collect(), ..page }
}

/// A page that says what was done and leads on by itself.
fn on_the_way(visit: &Visit<'_>, key: &str, to: &str) -> PageAnswer {
    let title = visit.t(key);
    let content = html! { h1 { (title) } p { a.button href=(to) { (visit.t("sign-in.on")) } } };
    visit.page_leading_to(to, title, &content)
}

/// Says why nobody is signed in.
fn failed(visit: &Visit<'_>, why: &str, code: &str) -> PageAnswer {
    let title = visit.t("sign-in.failed");
    let content: Markup = html! {
        h1 { (title) }
        p role="status" { (visit.say(&format!("sign-in.failure.{why}"), &[("code", code)])) }
        p { a.button href=(visit.sign_in_href("/")) { (visit.t("sign-in.again")) } }
    };
    visit.page(title, &content)
}

/// The attempt that this browser began, while it may be ended.
fn kept(visit: &Visit<'_>) -> Option<KeptAttempt> {
    let named = format!("{}=", name(visit));
    let sealed = visit.request.cookies.split("; ").find_map(|cookie| cookie.strip_prefix(&named))?;
    let kept: KeptAttempt = serde_json::from_slice(&visit.key.open_for(ATTEMPT_USE, sealed)?).ok()?;
    Some(kept).filter(|kept| visit.sources.tokens.now() <= kept.until)
}

fn cookie(visit: &Visit<'_>, sealed: &str, seconds: i64) -> String {
    let (path, secure) = (visit.href(""), if visit.request.is_secure { "; Secure" } else { "" });
    format!("{}={sealed}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}", name(visit))
}

fn name(visit: &Visit<'_>) -> &'static str {
    if visit.request.is_secure { NAME_OVER_TLS } else { NAME }
}
