//! `.curt` bodies in, the same bodies out: what curt-cat does with each.

use super::counts::Counts;
use super::output::{FileName, Output};
use super::pack::Checked;
use crate::curt::bodies::{Bodies, Source};
use crate::curt::check::Header;
use crate::curt::name::Name;
use crate::json::raw::Raw;
use crate::json::write::{Layout, relay};
use crate::stream::deliver::{Target, Undelivered};
use crate::stream::place::{Identity, Placed};
use std::cell::RefCell;

/// Lay out the body that was judged last, accepted and spilled, and put it where it belongs. White space
/// is all that changes: fields, their order, the text of numbers and the escapes of strings stay. A file's
/// place comes back, nothing for a stream.
///
/// # Errors
/// `Undelivered::Stream` ends the run.
pub fn body(
    bodies: &mut Bodies<Source>,
    header: &Header,
    layout: Layout,
    target: &mut Target<'_>,
) -> Result<Option<Placed>, Undelivered> {
    let bodies = RefCell::new(bodies);
    let output = Output {
        name: FileName::Convention(Name::of_header(header), "curt"),
        who: Identity {
            id: Raw::known(&header.id).text().unwrap_or_default().into_owned(),
            updated: Some(header.updated_at),
        },
        write: &|to| {
            relay(bodies.borrow_mut().read_again()?, layout, to)?;
            to.write_all(b"\n")?;
            Ok(Counts::default())
        },
    };
    output.deliver(Checked::default(), target, &mut Counts::default())
}
