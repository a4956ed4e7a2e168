//! Reconfiguration of a link while packets are inside.

use alloc::vec::Vec;
use core::cmp::Reverse;

use gigatcp_units::{Duration, Instant};

use crate::quick_start::QuickStart;

use super::{Departed, Entrance, Held, Link, Piece, queue_of, replacing};
use crate::closed::Closed;
use crate::config::HopConfig;
use crate::counters::Bookkeeping;
use crate::line::Served;
use crate::parcel::Parcel;
use crate::queue::Ticket;
use crate::slots::Slots;

impl<T: Parcel> Link<T> {
    /// Continues with the contents of `closed` at `now`, whose line has delay `delay`.
    pub(crate) fn take_over(&mut self, now: Instant, mut closed: Closed<T>, delay: Duration) {
        closed.backlog(now);
        self.at = self.at.max(now);
        self.busy = closed.busy_time(now);
        let (served, late, sojourns) = closed.into_parts();
        self.sojourns = sojourns;
        for (due, parcel, tally) in late {
            let number = self.departures;
            self.departures += 1;
            self.unordered.push(Reverse(Departed {
                due,
                number,
                parcel,
                tally,
            }));
        }
        for wire_packet in served {
            self.take_over_one(now, wire_packet, delay);
        }
    }

    /// Continues with one wire packet: on the line, in service, or waiting.
    fn take_over_one(&mut self, now: Instant, one: Served<T>, delay: Duration) {
        let (tally, is_reordered) = (one.frames.tally(), one.is_reordered);
        self.arrivals += 1;
        let (hosts, dscp) = self.class_of(&one.parcel);
        let ticket = Ticket {
            parcel: 0,
            place: 0,
            octets: u32::try_from(one.frames.size(0)).unwrap_or(u32::MAX),
            arrived: one.arrived,
            flow: one.parcel.flow(),
            hosts,
            dscp,
            is_markable: one.parcel.is_markable(),
            is_l4s: one.parcel.is_l4s(),
            is_marked: false,
        };
        let left = one.served.instant();
        if left > now && self.service.is_busy() {
            let parcel = self.hold(Held {
                arrival: self.arrivals,
                parcel: one.parcel,
                frames: one.frames,
                first: 0,
                entrance: Entrance {
                    is_reordered,
                    is_marked: false,
                },
            });
            let view = self.view();
            let ticket = Ticket { parcel, ..ticket };
            self.queue.enqueue(now, &view, ticket, &mut self.drops);
            return;
        }
        let piece = Piece {
            arrival: self.arrivals,
            ticket,
            parcel: one.parcel,
            tally,
            is_reordered,
        };
        if left <= now {
            let due = left + delay;
            self.push(due, piece);
            return;
        }
        let (nanos, parts) = one.served.after(now);
        self.service.take_over(now, nanos, parts, one.began);
        self.in_service = tally;
        self.serving.push(piece);
    }

    /// Replaces the configuration `before` by `after` from `now` on; see
    /// [`Hop::reconfigure`](crate::Hop::reconfigure).
    pub(crate) fn reconfigure(
        &mut self,
        now: Instant,
        before: &HopConfig,
        after: &HopConfig,
        seed: u64,
        books: &mut Bookkeeping<T>,
    ) {
        self.advance(now, books);
        self.reorder_delay = after
            .reorder
            .map_or(Duration::ZERO, |reorder| reorder.extra_delay);
        self.reorders = after.reorder.is_some();
        self.mark_above = after.mark_above;
        self.release = after.release;
        if before.ack_filter != after.ack_filter {
            self.ack_filter = replacing(after);
        }
        self.group = after.aggregate.map_or(1, |group| group.packets);
        self.delay.reconfigure(now, before, after, seed);
        if before.slot != after.slot {
            self.slots = Slots::new(after, seed);
        }
        self.service
            .reconfigure(now, before, after, self.in_service);
        let is_other_queue = before.queue != after.queue
            || before.limit_packets != after.limit_packets
            || before.limit_bytes != after.limit_bytes;
        if before.quick_start != after.quick_start {
            self.quick_start = after.quick_start.then(QuickStart::default);
        }
        if is_other_queue {
            let mut moved = Vec::new();
            self.queue.drain(&mut moved);
            self.queue = queue_of(after, seed, now);
            self.classifies = self.queue.classifies();
            // Queues with several lines drain one line after the other.
            moved.sort_by_key(|ticket| ticket.arrived);
            self.move_in(now, moved, books);
            if !self.service.is_busy() {
                // The queue before may have held them back.
                self.serve_next(now, false, books);
            }
        }
        self.is_router = self.queue.router().is_some() || self.quick_start.is_some();
        // Packets served at an infinite rate have left.
        self.advance(now, books);
        self.assert_invariants(books);
    }

    /// Moves tickets to a new queue.
    fn move_in(&mut self, now: Instant, moved: Vec<Ticket>, books: &mut Bookkeeping<T>) {
        // Number of the current parcel, and the number of its rest if one of its wire packets was
        // dropped.
        let mut goes_on = None;
        for mut ticket in moved {
            let number = ticket.parcel;
            if let Some((before, after)) = goes_on
                && before == number
            {
                ticket.parcel = after;
            }
            if let Some(held) = &self.held[ticket.parcel as usize] {
                (ticket.hosts, ticket.dscp) = self.class_of(&held.parcel);
            }
            let view = self.view();
            self.queue.enqueue(now, &view, ticket, &mut self.drops);
            if !self.drops.0.is_empty() {
                let rest = self.release_dropped(now, books, ticket.parcel);
                goes_on = Some((number, rest));
            }
        }
    }
}
