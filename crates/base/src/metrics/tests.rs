use super::*;
use std::time::Duration;

fn answered(status: u16) -> ResponseLabels {
    ResponseLabels { method: "GET", route: "/Composition/{id}", status }
}

#[test]
fn what_is_counted_is_told_under_its_labels() {
    let metrics = Metrics::new();
    metrics.requests.answered(&answered(200), Duration::from_micros(150));
    metrics.requests.answered(&answered(200), Duration::from_secs(60));
    metrics.requests.answered(&answered(404), Duration::from_micros(50));
    metrics.requests.refused("HCERT-127");
    let text = metrics.text(&Readings::default());
    for line in [
        r#"hcert_http_requests_total{method="GET",route="/Composition/{id}",status="200"} 2"#,
        r#"hcert_http_requests_total{method="GET",route="/Composition/{id}",status="404"} 1"#,
        r#"hcert_http_request_duration_seconds_bucket{le="0.0001",route="/Composition/{id}"} 1"#,
        r#"hcert_http_request_duration_seconds_bucket{le="0.00025",route="/Composition/{id}"} 2"#,
        r#"hcert_http_request_duration_seconds_bucket{le="10.0",route="/Composition/{id}"} 2"#,
        r#"hcert_http_request_duration_seconds_bucket{le="+Inf",route="/Composition/{id}"} 3"#,
        r#"hcert_errors_total{code="HCERT-127"} 1"#,
    ] {
        assert!(text.lines().any(|told| told == line), "{line} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn two_servers_of_one_process_count_apart() {
    let (one, other) = (Metrics::new(), Metrics::new());
    one.requests.refused("HCERT-127");
    assert!(!other.text(&Readings::default()).contains("HCERT-127"));
}

#[test]
fn a_request_that_is_given_up_is_under_way_no_longer() {
    let metrics = Metrics::new();
    let (one, other) = (metrics.requests.begin(), metrics.requests.begin());
    assert_eq!(metrics.requests.under_way(), 2);
    drop(one);
    assert_eq!(metrics.requests.under_way(), 1);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _third = metrics.requests.begin();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    drop(other);
    assert_eq!(metrics.requests.under_way(), 0);
}

#[test]
fn readings_say_their_unit_and_exactly_one_state_of_each_thing() {
    let mut readings = Readings::default();
    readings.gauge(&names::DISK_FREE, 5.0);
    readings.counter(&names::CONNECTIONS_ACCEPTED, 7.0);
    readings.states(&names::PART_STATE, &["ok", "down"], &[("disk", "down")]);
    readings.build("1.2.3");
    let text = Metrics::new().text(&readings);
    for line in [
        "# UNIT hcert_disk_free_bytes bytes",
        "hcert_disk_free_bytes 5.0",
        "hcert_connections_accepted_total 7.0",
        r#"hcert_part_state{part="disk",state="down"} 1"#,
        r#"hcert_part_state{part="disk",state="ok"} 0"#,
        r#"hcert_build_info{version="1.2.3"} 1.0"#,
    ] {
        assert!(text.lines().any(|told| told == line), "{line} is not in\n{text}");
    }
}

#[test]
fn the_kernel_knows_this_process() {
    let process = ProcessFigures::read();
    assert!(process.resident_bytes.is_some_and(|bytes| bytes > 1 << 20), "{process:?}");
    assert!(process.threads.is_some_and(|threads| threads >= 1), "{process:?}");
    let file = std::fs::File::open("/proc/self/status").unwrap();
    assert!(process.open_files.is_some_and(|files| files >= 3), "{process:?}");
    assert!(process.open_files_max > process.open_files && process.cpu_seconds.is_some(), "{process:?}");
    drop(file);
}
