//! The states of a certificate and the moves between them, as a picture made of the table that decides.

use maud::{Markup, html};

use super::start::state_name;
use crate::console::visit::Visit;
use certificate::State;
use certificate::transition::{TRANSITIONS, Transition};

/// Width and height of a box.
const BOX: (i32, i32) = (168, 44);

/// Where the box of a state stands: its left upper corner.
fn place(state: Option<State>) -> (i32, i32) {
    match state {
        None => (8, 114),
        Some(State::Draft) => (230, 40),
        Some(State::Completed) => (230, 190),
        Some(State::Suspended) => (470, 190),
        Some(State::Revoked) => (470, 300),
        Some(State::Deleted) => (470, 40),
    }
}

/// The picture. `current`: the state that is marked.
pub(super) fn diagram(visit: &Visit<'_>, current: Option<State>) -> Markup {
    html! {
        figure {
            svg.diagram viewBox="0 0 650 352" role="img" aria-labelledby="diagram-title" {
                title #diagram-title { (visit.t("moves.picture")) }
                defs { marker #arrow viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse" {
                    path d="M0 0 L8 4 L0 8 z" {}
                } }
                @for row in TRANSITIONS { (arrow(row)) }
                g.absent { rect x="8" y="114" width="96" height="44" rx="8" {} text x="56" y="141" { (visit.t("moves.absent")) } }
                @for state in State::ALL { (labelled(visit, state, current == Some(state))) }
            }
            figcaption { (visit.t("moves.caption")) }
        }
    }
}

fn labelled(visit: &Visit<'_>, state: State, is_current: bool) -> Markup {
    let (x, y) = place(Some(state));
    html! {
        g.state-box.current[is_current] {
            rect x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx="8" {}
            text x=(x + BOX.0 / 2) y=(y + 27) { (state_name(visit, state)) }
        }
    }
}

/// An arrow from the edge of one box to that of another; a move that leads back is a loop.
fn arrow(row: &Transition) -> Markup {
    let ((from_x, from_y), (to_x, to_y)) = (place(row.from), place(Some(row.to)));
    let from_width = if row.from.is_some() { BOX.0 } else { 96 };
    let half = BOX.1 / 2;
    let path = if row.from == Some(row.to) {
        let (x, y) = (from_x, from_y);
        format!("M{} {y} C{} {} {} {} {} {y}", x + 18, x + 10, y - 30, x + 62, y - 30, x + 54)
    } else if from_x == to_x {
        let (start, end) = if to_y > from_y { (from_y + BOX.1, to_y) } else { (from_y, to_y + BOX.1) };
        format!("M{} {start} L{} {end}", from_x + BOX.0 / 2, to_x + BOX.0 / 2)
    } else {
        format!("M{} {} L{} {}", from_x + from_width, from_y + half, to_x, to_y + half)
    };
    html! { path.arrow d=(path) marker-end="url(#arrow)" {} }
}
