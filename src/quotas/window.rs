//! The points of a minute, those of existing metrics apart from those that create one.

/// What came in the minute that is under way, and in the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    minute: u32,
    existing: u64,
    new: u64,
    /// Points of existing metrics in the minute before.
    existing_before: u64,
    all_before: u64,
}

impl Window {
    /// A window that knows nothing of the time before: half of the limit is for existing metrics.
    pub(super) fn new(limit: u64) -> Self {
        Self { existing_before: limit / 2, ..Self::default() }
    }

    /// Takes up to so many points of existing metrics, and says how many.
    pub(super) fn take(&mut self, points: u64, limit: u64, now: u32) -> u64 {
        self.turn(now);
        let taken = points.min(limit.saturating_sub(self.existing + self.new));
        self.existing += taken;
        taken
    }

    /// Gives back points that were taken at that time.
    pub(super) fn give_back(&mut self, points: u64, then: u32) {
        if self.minute == minute(then) {
            self.existing = self.existing.saturating_sub(points);
        }
    }

    /// Is there room for a point that creates a metric, beside those that existing metrics need?
    pub(super) fn has_room_for_new(&mut self, limit: u64, now: u32) -> bool {
        self.turn(now);
        self.new + self.existing.max(self.existing_before) < limit
    }

    /// Takes a point that creates a metric.
    pub(super) fn take_new(&mut self, now: u32) {
        self.turn(now);
        self.new += 1;
    }

    /// Points in this minute, or in the one before if they were more.
    pub(super) fn used(&self, now: u32) -> u64 {
        let mut current = *self;
        current.turn(now);
        (current.existing + current.new).max(current.all_before)
    }

    fn turn(&mut self, now: u32) {
        let minute = minute(now);
        if minute == self.minute {
            return;
        }
        let is_first = self.minute == 0;
        if !is_first {
            let is_next = minute == self.minute + 1;
            self.existing_before = if is_next { self.existing } else { 0 };
            self.all_before = if is_next { self.existing + self.new } else { 0 };
        }
        (self.minute, self.existing, self.new) = (minute, 0, 0);
    }
}

/// The minute of a second.
pub(super) fn minute(now: u32) -> u32 {
    now / 60
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_800_000_000;

    #[test]
    fn a_minute_has_its_points_and_the_next_has_them_again() {
        let mut window = Window::new(10);
        assert_eq!((window.take(7, 10, NOW), window.take(7, 10, NOW + 59)), (7, 3));
        assert_eq!((window.take(1, 10, NOW + 59), window.used(NOW + 59)), (0, 10));
        assert_eq!((window.take(4, 10, NOW + 60), window.used(NOW + 60)), (4, 10));
        assert_eq!(window.used(NOW + 180), 0);
        window.give_back(3, NOW + 60);
        window.give_back(9, NOW);
        assert_eq!(window.take(20, 10, NOW + 61), 9);
    }

    #[test]
    fn new_metrics_get_what_existing_ones_left_a_minute_ago() {
        let mut window = Window::new(10);
        let flood = |window: &mut Window, now| {
            (0..100)
                .filter(|_| {
                    window.has_room_for_new(10, now) && {
                        window.take_new(now);
                        true
                    }
                })
                .count()
        };
        assert_eq!(flood(&mut window, NOW), 5, "nothing is known: half is for existing metrics");
        assert_eq!(window.take(9, 10, NOW), 5);
        assert_eq!(flood(&mut window, NOW + 60), 5);
        assert_eq!(window.take(5, 10, NOW + 60), 5, "what they used before is theirs");
        assert_eq!(flood(&mut window, NOW + 60), 0);
        assert_eq!(flood(&mut window, NOW + 240), 10, "nobody was there in the minute before");
    }
}
