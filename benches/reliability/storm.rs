//! Clients that create certificates until the server is gone, and remember what was acknowledged.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::process::{Client, Process};

/// Clients that write at once.
pub(crate) const WRITERS: usize = 16;

const DRAFT: &[u8] = include_bytes!("../../examples/driver-draft.json");

/// How long they write before something happens.
const BEFORE: Duration = Duration::from_secs(2);

/// What was acknowledged: places of versions.
pub(crate) struct Storm(Vec<String>);

impl Storm {
    /// Everything that was acknowledged is there.
    pub(crate) fn expect_all(&self, server: &Process) {
        let mut client = server.client();
        for place in &self.0 {
            let answer = client.get(place);
            assert_eq!(answer.status, 200, "{place} was acknowledged and is lost: {}", answer.text());
        }
        println!("{:<34}{} acknowledged writes, 0 lost", "", self.0.len());
    }
}

/// Writes while `end` brings the server to its end.
pub(crate) fn storm<T>(server: &Process, end: impl FnOnce(&Process) -> T) -> (T, Storm) {
    let acknowledged = Mutex::new(Vec::new());
    let over = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| write(&mut server.client(), &over, &acknowledged));
        }
        thread::sleep(BEFORE);
        let ended = end(server);
        over.store(true, Ordering::Release);
        ended
    });
    (ended, Storm(acknowledged.into_inner().expect("no writer panicked")))
}

fn write(client: &mut Client, over: &AtomicBool, acknowledged: &Mutex<Vec<String>>) {
    while !over.load(Ordering::Acquire) {
        // A connection that breaks, or 503, is what the end of a server looks like.
        let Ok(answer) = client.send("POST", "/Composition", &[], DRAFT) else { return };
        if answer.status != 201 {
            assert_eq!(answer.status, 503, "{}", answer.text());
            return;
        }
        let location = answer.header("location").expect("a create says where");
        let place = &location[location.find("/Composition/").expect("it is a Composition")..];
        acknowledged.lock().expect("no writer panicked").push(place.to_owned());
    }
}
