//! Many questions in a row: tries, connections, the breaker and what is remembered.

use std::time::Duration;

use super::server::{Play, Server, answer, json};
use super::*;
use crate::turns::ClientKey;

#[tokio::test]
async fn a_busy_registry_is_asked_again() {
    for status in [429, 502, 503, 504] {
        let server = Server::start(move |seen| {
            Play::Send(if seen.number < 3 { answer(status, "", "busy") } else { json(200, PATIENT) })
        })
        .await;
        assert_eq!(text(remote(&server, |_| ()).ask(&read(), &caller(LookupPurpose::Callers)).await), PATIENT);
        assert_eq!(server.requests(), 3);
    }
}

#[tokio::test]
async fn tries_are_bounded_and_the_last_answer_counts() {
    let server =
        Server::start(|seen| Play::Send(if seen.number == 3 { json(503, OUTCOME) } else { answer(503, "", "busy") }))
            .await;
    let told = remote(&server, |_| ()).ask(&read(), &caller(LookupPurpose::Write)).await;
    assert!(matches!(told, Err(LookupFailure::Refused(chain)) if chain.status == 503));
    assert_eq!(server.requests(), 3);
    let once = remote(&server, |settings| settings.tries = 1).ask(&read(), &caller(LookupPurpose::Write)).await;
    assert!(matches!(no_answer(once), NoAnswer::Unreadable(_)));
    assert_eq!(server.requests(), 4);
}

#[tokio::test]
async fn what_asking_again_cannot_mend_is_asked_once() {
    for bytes in
        [json(400, OUTCOME), json(500, OUTCOME), answer(500, "", ""), json(200, "{"), answer(200, "", "<html>")]
    {
        let server = Server::start(move |_| Play::Send(bytes.clone())).await;
        assert!(remote(&server, |_| ()).ask(&read(), &caller(LookupPurpose::Write)).await.is_err());
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn a_staged_fault_is_asked_for_once_and_remembered_by_nobody() {
    let server = Server::start(|seen| {
        Play::Send(if seen.header("x-hcert-fault").is_some() { json(503, OUTCOME) } else { json(200, PATIENT) })
    })
    .await;
    let remote = remote(&server, |settings| settings.cache_s = 30);
    let staged = Caller { fault: Some("MPI-029".to_owned()), ..caller(LookupPurpose::Write) };
    assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_ok());
    assert!(
        matches!(remote.ask(&read(), &staged).await, Err(LookupFailure::Refused(_))),
        "not answered by what is remembered"
    );
    assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_ok());
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn a_registry_that_wants_more_time_than_there_is_gets_no_further_try() {
    let server = Server::start(|_| Play::Send(answer(503, "Retry-After: 61\r\n", ""))).await;
    assert!(remote(&server, |_| ()).ask(&read(), &caller(LookupPurpose::Write)).await.is_err());
    assert_eq!(server.requests(), 1);
    let server = Server::start(|_| Play::Send(answer(503, "Retry-After: 0\r\n", ""))).await;
    assert!(remote(&server, |_| ()).ask(&read(), &caller(LookupPurpose::Write)).await.is_err());
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn a_broken_connection_is_replaced_within_the_tries() {
    let server = Server::start(|seen| match seen.number {
        1 => Play::Close(Vec::new()),
        2 => Play::Close(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{".to_vec()),
        _ => Play::Send(json(200, PATIENT)),
    })
    .await;
    assert_eq!(text(remote(&server, |_| ()).ask(&read(), &caller(LookupPurpose::Write)).await), PATIENT);
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn questions_one_after_the_other_share_a_connection() {
    let server = Server::start(|_| Play::Send(json(200, PATIENT))).await;
    let remote = remote(&server, |_| ());
    for _ in 0..10 {
        assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_ok());
    }
    assert_eq!((server.requests(), server.connections()), (10, 1));
}

/// What was seen: a second answer, some milliseconds late, was shown to the next caller who searched by a day of birth.
#[tokio::test]
async fn a_question_whose_answer_says_not_whose_it_is_has_a_connection_of_its_own() {
    let server = Server::start(|_| Play::Send(json(200, &bundle()))).await;
    let remote = remote(&server, |_| ());
    let born = RegistryRequest::Search(vec![("birthdate".to_owned(), "1990-01-01".to_owned())]);
    for _ in 0..3 {
        assert!(remote.ask(&search("1"), &caller(LookupPurpose::Callers)).await.is_ok());
        assert!(remote.ask(&born, &caller(LookupPurpose::Callers)).await.is_ok());
    }
    assert_eq!((server.requests(), server.connections()), (6, 4));
}

#[tokio::test]
async fn a_kept_connection_that_closes_under_a_request_is_no_try() {
    // The second request on the first connection is read and not answered.
    let server = Server::start(|seen| match seen.number {
        2 => Play::Close(Vec::new()),
        _ => Play::Send(json(200, PATIENT)),
    })
    .await;
    let remote = remote(&server, |settings| settings.tries = 1);
    for _ in 0..2 {
        assert_eq!(text(remote.ask(&read(), &caller(LookupPurpose::Write)).await), PATIENT);
    }
    assert_eq!((server.requests(), server.connections()), (3, 2));
    // One that closes at once, and a second one that closes again, is a failure.
    let server = Server::start(|seen| match seen.number {
        1 => Play::Send(json(200, PATIENT)),
        _ => Play::Close(Vec::new()),
    })
    .await;
    let remote = super::remote(&server, |settings| settings.tries = 1);
    assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_ok());
    assert!(matches!(no_answer(remote.ask(&read(), &caller(LookupPurpose::Write)).await), NoAnswer::Unreachable(_)));
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_there_are_connections() {
    let server = Server::start(|seen| if seen.number < 3 { Play::Hang } else { Play::Send(json(200, PATIENT)) }).await;
    let remote = remote(&server, |settings| {
        settings.connections = 2;
        settings.deadline_ms = 200;
    });
    let writer = caller(LookupPurpose::Write);
    let asked = read();
    let (one, two, three) =
        tokio::join!(remote.ask(&asked, &writer), remote.ask(&asked, &writer), remote.ask(&asked, &writer),);
    for told in [one, two, three] {
        assert!(matches!(no_answer(told), NoAnswer::Timeout(_)));
    }
    assert_eq!(
        (server.requests(), server.connections()),
        (2, 2),
        "the third waited for a place until its time was over"
    );
    assert!(remote.ask(&asked, &writer).await.is_ok(), "whoever gives up gives the place back");
}

/// What was seen: one caller asked again and again for somebody at whom the registry hangs, and held every connection.
#[tokio::test]
async fn one_client_holds_half_of_the_connections() {
    let server =
        Server::start(|seen| if seen.head.contains("hangs") { Play::Hang } else { Play::Send(json(200, PATIENT)) });
    let remote = remote(&server.await, |settings| (settings.connections, settings.timeout_ms) = (2, 30_000));
    let by = |name: &str| Caller { client: Some(ClientKey::person(name)), ..caller(LookupPurpose::Callers) };
    let (crowd, other) = (by("crowd"), by("other"));
    let [one, two, three] = ["hangs1", "hangs2", "hangs3"].map(search);
    let hanging =
        async { tokio::join!(remote.ask(&one, &crowd), remote.ask(&two, &crowd), remote.ask(&three, &crowd)) };
    tokio::select! {
        biased;
        _ = hanging => panic!("it hangs"),
        () = async {
            for _ in 0..3 {
                assert!(remote.ask(&read(), &other).await.is_ok());
            }
        } => {}
    }
}

#[tokio::test]
async fn a_registry_that_fails_again_and_again_is_left_alone_until_a_probe_succeeds() {
    let server = Server::start(|seen| match seen.number {
        1..=6 => Play::Send(answer(500, "", "broken")),
        _ => Play::Send(json(200, PATIENT)),
    })
    .await;
    let remote = remote(&server, |settings| settings.breaker_failures = 3);
    let writer = caller(LookupPurpose::Write);
    for _ in 0..3 {
        assert!(matches!(no_answer(remote.ask(&read(), &writer).await), NoAnswer::Unreadable(_)));
    }
    for _ in 0..5 {
        assert!(matches!(no_answer(remote.ask(&read(), &writer).await), NoAnswer::Unreachable(_)));
    }
    assert_eq!(server.requests(), 4, "the last of them was GET /metadata; nobody is asked while it is left alone");
    wind(Duration::from_secs(10));
    assert!(matches!(no_answer(remote.ask(&read(), &writer).await), NoAnswer::Unreadable(_)), "the probe fails");
    assert!(matches!(no_answer(remote.ask(&read(), &writer).await), NoAnswer::Unreachable(_)));
    assert_eq!(server.requests(), 6);
    wind(Duration::from_secs(10));
    for number in 7..10 {
        assert!(remote.ask(&read(), &writer).await.is_ok());
        assert_eq!(server.requests(), number);
    }
}

#[tokio::test]
async fn a_registry_that_says_what_is_wrong_is_alive() {
    let server = Server::start(|_| Play::Send(json(500, OUTCOME))).await;
    let remote = remote(&server, |settings| settings.breaker_failures = 1);
    for _ in 0..3 {
        assert!(matches!(remote.ask(&read(), &caller(LookupPurpose::Write)).await, Err(LookupFailure::Refused(_))));
    }
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn a_staged_fault_says_nothing_of_the_registry() {
    let server = Server::start(|seen| {
        if seen.header("x-hcert-fault").is_some() { Play::Close(Vec::new()) } else { Play::Send(json(200, PATIENT)) }
    })
    .await;
    let remote = remote(&server, |settings| settings.breaker_failures = 1);
    let staged = Caller { fault: Some("refuse".to_owned()), ..caller(LookupPurpose::Write) };
    for _ in 0..3 {
        assert!(matches!(no_answer(remote.ask(&read(), &staged).await), NoAnswer::Unreachable(_)));
        assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_ok());
    }
}

/// What was seen: a caller whose words, or whose person, a gateway fails at kept everybody from the registry.
#[tokio::test]
async fn what_the_registry_fails_at_for_one_person_opens_no_breaker() {
    for purpose in [LookupPurpose::Callers, LookupPurpose::Look, LookupPurpose::Write] {
        let server = Server::start(|seen| match seen.head.lines().next().unwrap_or_default() {
            line if line.contains("RST") => Play::Close(Vec::new()),
            line if line.contains("504") => Play::Send(answer(504, "", "<html>")),
            line if line.contains("/metadata") => Play::Send(json(200, "{}")),
            _ => Play::Send(json(200, PATIENT)),
        })
        .await;
        let remote = remote(&server, |settings| settings.breaker_failures = 1);
        for words in ["RST", "504", "RST"] {
            no_answer(remote.ask(&search(words), &caller(purpose)).await);
            let RegistryHealth::Remote { breaker, last_problem, .. } = remote.health() else { panic!("a remote one") };
            assert_eq!(breaker, BreakerState::Closed);
            let is_own = purpose != LookupPurpose::Callers;
            assert_eq!(last_problem.is_some(), is_own, "no caller's question is the operator's concern");
            assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_ok());
        }
    }
}

/// Where a caller's question takes all the time that there is, the service has none left for its own, and knows nothing.
#[tokio::test]
async fn a_callers_question_that_takes_all_the_time_says_nothing_of_the_registry() {
    let server =
        Server::start(|seen| if seen.head.contains("RST") { Play::Hang } else { Play::Send(json(200, PATIENT)) });
    let remote = remote(&server.await, |settings| {
        (settings.breaker_failures, settings.timeout_ms, settings.deadline_ms) = (1, 200, 200);
    });
    let told = remote.ask(&search("RST"), &caller(LookupPurpose::Callers)).await;
    assert!(matches!(no_answer(told), NoAnswer::Timeout(_)));
    assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_ok());
}

#[tokio::test]
async fn the_breaker_opens_for_every_caller_of_a_registry_that_is_down() {
    let server = Server::start(|_| Play::Close(Vec::new())).await;
    let remote = remote(&server, |settings| settings.breaker_failures = 1);
    assert!(remote.ask(&search("1"), &caller(LookupPurpose::Callers)).await.is_err());
    let asked = server.requests();
    assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_err());
    assert_eq!(server.requests(), asked, "nobody is asked while it is left alone");
}

#[tokio::test]
async fn an_open_breaker_ends_the_tries() {
    let server = Server::start(|_| Play::Send(answer(503, "", ""))).await;
    let remote = remote(&server, |settings| settings.breaker_failures = 2);
    assert!(remote.ask(&read(), &caller(LookupPurpose::Write)).await.is_err());
    assert_eq!(server.requests(), 3, "two of them and GET /metadata");
}

#[tokio::test]
async fn a_patient_that_was_looked_up_is_remembered_for_a_while() {
    let server = Server::start(|_| Play::Send(json(200, &bundle()))).await;
    let remote = remote(&server, |settings| settings.cache_s = 30);
    for purpose in [LookupPurpose::Write, LookupPurpose::Look, LookupPurpose::Write] {
        assert_eq!(text(remote.ask(&search("1"), &caller(purpose)).await), bundle());
    }
    assert_eq!(server.requests(), 1);
    let by_id = RegistryRequest::Search(vec![("_id".to_owned(), "200".to_owned())]);
    for _ in 0..2 {
        assert!(remote.ask(&by_id, &caller(LookupPurpose::Look)).await.is_ok());
        assert_eq!(server.requests(), 2, "another question is another request");
    }
    wind(Duration::from_secs(30));
    assert!(remote.ask(&search("1"), &caller(LookupPurpose::Look)).await.is_ok());
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn what_a_caller_asks_for_is_asked_for_anew_and_remembered_by_nobody() {
    let server = Server::start(|_| Play::Send(json(200, PATIENT))).await;
    let remote = remote(&server, |settings| settings.cache_s = 30);
    for purpose in [
        LookupPurpose::Callers,
        LookupPurpose::Write,
        LookupPurpose::Callers,
        LookupPurpose::Callers,
        LookupPurpose::Write,
    ] {
        assert!(remote.ask(&read(), &caller(purpose)).await.is_ok());
    }
    assert_eq!(server.requests(), 4);
}

#[tokio::test]
async fn nobody_found_and_nothing_told_is_not_remembered() {
    let nobody = r#"{"resourceType":"Bundle","type":"searchset","total":0}"#;
    let server = Server::start(move |seen| match seen.number {
        1 => Play::Send(json(200, nobody)),
        2 => Play::Send(json(400, OUTCOME)),
        3 => Play::Send(json(200, "{")),
        _ => Play::Send(json(200, &bundle())),
    })
    .await;
    let remote = remote(&server, |settings| settings.cache_s = 30);
    for _ in 0..6 {
        let _ = remote.ask(&search("1"), &caller(LookupPurpose::Write)).await;
    }
    assert_eq!(server.requests(), 4);
    let byname = RegistryRequest::Search(vec![("birthdate".to_owned(), "1990-01-01".to_owned())]);
    for _ in 0..2 {
        assert!(remote.ask(&byname, &caller(LookupPurpose::Write)).await.is_ok());
    }
    assert_eq!(server.requests(), 6, "only look-ups of one patient are remembered");
}

#[tokio::test]
async fn the_same_question_at_the_same_time_is_one_request() {
    let server = Server::start(|seen| match seen.target().contains("=1") {
        true => Play::Send(json(200, &bundle())),
        false => Play::Send(json(400, OUTCOME)),
    })
    .await;
    let remote = remote(&server, |settings| settings.cache_s = 30);
    let writer = caller(LookupPurpose::Write);
    let (one, two) = (search("1"), search("2"));
    let (first, second, third) =
        tokio::join!(remote.ask(&one, &writer), remote.ask(&one, &writer), remote.ask(&one, &writer));
    assert!([first, second, third].into_iter().all(|told| text(told) == bundle()));
    assert_eq!(server.requests(), 1);
    let (first, second) = tokio::join!(remote.ask(&two, &writer), remote.ask(&two, &writer));
    assert!([first, second].iter().all(|told| matches!(told, Err(LookupFailure::Refused(_)))));
    assert_eq!(server.requests(), 3, "a refusal is told to the one who asked");
}

#[tokio::test]
async fn a_registry_that_hangs_is_one_request_for_all_who_ask_the_same() {
    let server = Server::start(|_| Play::Hang).await;
    let remote = remote(&server, |settings| {
        settings.cache_s = 30;
        settings.timeout_ms = 100;
    });
    let writer = caller(LookupPurpose::Write);
    let asked = read();
    let (first, second) = tokio::join!(remote.ask(&asked, &writer), remote.ask(&asked, &writer));
    assert!([first, second].into_iter().all(|told| matches!(no_answer(told), NoAnswer::Timeout(_))));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn whoever_waits_for_one_who_goes_away_asks_alone() {
    let server = Server::start(|seen| match seen.number {
        1 => Play::Hang,
        _ => Play::Send(json(200, PATIENT)),
    })
    .await;
    let remote = remote(&server, |settings| settings.cache_s = 30);
    let writer = caller(LookupPurpose::Write);
    let asked = read();
    let leader = tokio::time::timeout(Duration::from_millis(100), remote.ask(&asked, &writer));
    let (gone, told) = tokio::join!(leader, remote.ask(&asked, &writer));
    assert!(gone.is_err() && told.is_ok());
    assert_eq!(server.requests(), 2);
}
