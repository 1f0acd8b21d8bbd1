//! Steps at the rate of the clock.

use std::time::{Duration, Instant};

/// Seconds of arrears that are made up; beyond that the motion is slow.
const MOST_ARREARS: f64 = 0.1;

/// Over which time the rate is measured, s.
const MEASURED: f64 = 1.0;

/// Says which steps are due, and how fast the motion is.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Simulated seconds per second.
    speed: f64,
    /// Moment and simulated time from which steps are due.
    anchor: Option<(Instant, f64)>,
    /// Moments and simulated times of late, the oldest first.
    late: std::collections::VecDeque<(Instant, f64)>,
}

impl Pace {
    /// At this many simulated seconds per second.
    pub fn new(speed: f64) -> Self {
        Pace { speed, anchor: None, late: Default::default() }
    }

    /// Begins anew, after a rest, a jump or a change of speed.
    pub fn restart(&mut self, speed: f64) {
        *self = Pace::new(speed);
    }

    /// Whether a step from simulated `time` is due.
    pub fn due(&mut self, now: Instant, time: f64) -> bool {
        let (start, from) = *self.anchor.get_or_insert((now, time));
        let mut wanted = from + (now - start).as_secs_f64() * self.speed;
        if wanted - time > MOST_ARREARS * self.speed {
            // Too slow for the clock: what was missed is not made up.
            wanted = time + 0.5 * MOST_ARREARS * self.speed;
            self.anchor = Some((now, wanted));
        }
        time < wanted
    }

    /// How long until the step from simulated `time` is due.
    pub fn wait(&self, now: Instant, time: f64) -> Duration {
        let Some((start, from)) = self.anchor else { return Duration::ZERO };
        let due = (time - from) / self.speed;
        Duration::from_secs_f64((due - (now - start).as_secs_f64()).clamp(0.0, 1.0))
    }

    /// Notes that the motion has come to simulated `time`.
    pub fn reached(&mut self, now: Instant, time: f64) {
        self.late.push_back((now, time));
        while self.late.len() > 2 && (now - self.late[1].0).as_secs_f64() > MEASURED {
            self.late.pop_front();
        }
    }

    /// Simulated seconds per second of late, over the speed that was asked for; none before half a second.
    pub fn share(&self) -> Option<f64> {
        let ((start, from), (end, to)) = (self.late.front()?, self.late.back()?);
        let seconds = (*end - *start).as_secs_f64();
        (seconds > 0.5 * MEASURED).then(|| (to - from) / seconds / self.speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs for two seconds of a made-up clock whose steps of 10 ms each take `cost` seconds.
    fn run(cost: f64, speed: f64) -> (f64, f64) {
        let start = Instant::now();
        let (mut clock, mut time, mut pace) = (0.0, 0.0, Pace::new(speed));
        while clock < 2.0 {
            let now = start + Duration::from_secs_f64(clock);
            if pace.due(now, time) {
                clock += cost;
                time += 0.01;
                pace.reached(start + Duration::from_secs_f64(clock), time);
            } else {
                clock += pace.wait(now, time).as_secs_f64().max(1e-4);
            }
        }
        (time, pace.share().unwrap())
    }

    #[test]
    fn fast_steps_follow_the_clock() {
        for speed in [0.25, 1.0, 2.0] {
            let (time, share) = run(0.001, speed);
            assert!((time - 2.0 * speed).abs() < 0.03, "{time} at speed {speed}");
            assert!((share - 1.0).abs() < 0.03, "{share} at speed {speed}");
        }
    }

    #[test]
    fn slow_steps_say_how_slow_they_are() {
        let (time, share) = run(0.02, 1.0);
        assert!((time - 1.0).abs() < 0.02 && (share - 0.5).abs() < 0.02, "{time}, {share}");
    }
}
