//! How metrics get from where they are to a store or a server: many at a time, and so that an interrupted command goes on where it was.
//!
//! | file       | noun                                                                    |
//! |------------|-------------------------------------------------------------------------|
//! | `carrier`  | takes metrics to their destination, a piece at a time                   |
//! | `delivery` | does so with a journal, and reads each piece back                       |
//! | `journal`  | what is done                                                            |

mod carrier;
mod delivery;
mod journal;

pub(super) use carrier::Carrier;
pub(super) use delivery::{Checked, Delivery};
pub(super) use journal::Journal;
