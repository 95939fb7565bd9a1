//! Only the interface: what C calls is in the crate.
pub use rure::*;
