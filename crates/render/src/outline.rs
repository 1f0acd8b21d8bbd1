//! Outlines of triangles: signed distance of pixels on the screen, and the nearest point.
//!
//! Edge k runs from corner k to corner k + 1. The nearest point of the outline is a + t e with t = clamp((p − a)·e
//! / |e|², 0, 1) on the nearest edge, at r = p − a − t e from the pixel. By optimality of t,
//! d(r·r) = −2 r·((1 − t) da + t db).
//!
//! Barycentric coordinates λ of a pixel inside move by dλₖ = −∇λₖ·Σⱼ λⱼ dvⱼ, because Σ λⱼ vⱼ is the pixel whatever
//! the corners do. A pixel outside sees the nearest point of the outline. SoftRas clips its barycentric
//! coordinates instead; both agree on the outline.
//!
//! A degenerate triangle (no area to within round-off) has an outline and no inside.

use pullback_math::{Real, select};

use crate::primitive::{Cover, Fragment, Primitive, Sight};

/// A triangle on the screen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outline<P> {
    /// Corners on the screen.
    pub corners: [[P; 2]; 3],
    /// Edges e.
    pub edges: [[P; 2]; 3],
    /// 1 / |e|², and 0 for an edge without length.
    pub per_square: [P; 3],
    /// 1 / twice the area, with its sign; 0 for a degenerate triangle.
    pub per_area: P,
}

impl<P: Real> Outline<P> {
    /// The outline of these corners, with what all pixels share.
    #[inline(always)]
    pub fn new(corners: [[P; 2]; 3]) -> Self {
        let edges: [[P; 2]; 3] = std::array::from_fn(|k| {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            [b[0] - a[0], b[1] - a[1]]
        });
        let squares = edges.map(|[x, y]| x * x + y * y);
        let invert = |x: P, smallest: P| {
            let regular = x.abs().gt(smallest);
            select(regular, select(regular, x, P::one()).recip(), P::zero())
        };
        let area = edges[0][0] * edges[1][1] - edges[0][1] * edges[1][0];
        let longest = squares[0].max(squares[1]).max(squares[2]);
        let tiny = P::lit(P::MIN_POSITIVE / P::EPSILON);
        let per_area = invert(area, (longest * P::lit(P::EPSILON)).max(tiny));
        Outline { corners, edges, per_square: squares.map(|s| invert(s, tiny)), per_area }
    }

    /// Every number through `f`.
    #[inline(always)]
    pub fn map<U>(&self, f: impl Fn(P) -> U + Copy) -> Outline<U> {
        Outline {
            corners: self.corners.map(|c| c.map(f)),
            edges: self.edges.map(|e| e.map(f)),
            per_square: self.per_square.map(f),
            per_area: f(self.per_area),
        }
    }
}

/// The nearest point of the outline, and the coordinates of the pixel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearestPoint<P: Real> {
    /// Whether it lies on edge 0, or on edge 1; else on edge 2.
    on: [P::Mask; 2],
    /// Place along the edge, 0 to 1.
    t: P,
    /// Whether t moves with the pixel, as it does between the ends.
    free: P::Mask,
    /// r, from the nearest point to the pixel.
    r: [P; 2],
    /// Barycentric coordinates of the pixel.
    inner: [P; 3],
}

impl<P: Real> NearestPoint<P> {
    /// `x[k]` where the nearest edge is k.
    #[inline(always)]
    fn of_edge(&self, x: [P; 3]) -> P {
        select(self.on[0], x[0], select(self.on[1], x[1], x[2]))
    }
    /// (1 − t, t) at the ends of the nearest edge, 0 at the corner in front of it.
    #[inline(always)]
    fn along(&self, at_start: P, at_end: P) -> [P; 3] {
        let o = P::zero();
        [
            self.of_edge([at_start, o, at_end]),
            self.of_edge([at_end, at_start, o]),
            self.of_edge([o, at_end, at_start]),
        ]
    }
    /// Barycentric coordinates of the point that is seen.
    #[inline(always)]
    pub fn coordinates(&self, inside: P::Mask) -> [P; 3] {
        let outer = self.along(P::one() - self.t, self.t);
        std::array::from_fn(|k| select(inside, self.inner[k], outer[k]))
    }
}

impl<P: Real> Outline<P> {
    /// Barycentric coordinates of pixels, and whether they are inside: what [`Primitive::cover`] finds, without distances.
    #[inline(always)]
    pub fn coordinates(&self, at: [P; 2]) -> ([P; 3], P::Mask) {
        let mut inner = [P::zero(); 3];
        for k in 0..3 {
            let [ex, ey] = self.edges[k];
            let (x, y) = (at[0] - self.corners[k][0], at[1] - self.corners[k][1]);
            inner[(k + 2) % 3] = (ex * y - ey * x) * self.per_area;
        }
        (inner, self.contains(inner))
    }
    /// Whether a pixel with these coordinates is inside.
    #[inline(always)]
    fn contains(&self, inner: [P; 3]) -> P::Mask {
        let zero = P::zero();
        let solid = !(self.per_area.le(zero) & self.per_area.ge(zero));
        solid & inner[0].ge(zero) & inner[1].ge(zero) & inner[2].ge(zero)
    }
    /// ∂λₖ/∂(x, y) = (−e_y, e_x) / (2 area) of the edge in front of corner k.
    #[inline(always)]
    pub fn slopes(&self, k: usize) -> [P; 2] {
        let [ex, ey] = self.edges[(k + 1) % 3];
        [-(ey * self.per_area), ex * self.per_area]
    }

    /// Pullback of the signed square of the distance: adds to the cotangents of the corners.
    #[inline(always)]
    pub fn pull_distance(
        &self,
        cover: &Cover<P, NearestPoint<P>>,
        signed_bar: P,
        corner_bar: &mut [[P; 2]; 3],
    ) {
        let nearest = &cover.nearest;
        let ends = nearest.along(P::one() - nearest.t, nearest.t);
        // d(± r·r) = ∓2 r·Σ nₖ dvₖ
        let twice = signed_bar + signed_bar;
        let scale = select(cover.inside, -twice, twice);
        let pull = nearest.r.map(|r| r * scale);
        for k in 0..3 {
            for i in 0..2 {
                corner_bar[k][i] = pull[i].mul_add(ends[k], corner_bar[k][i]);
            }
        }
    }

    /// Cotangent of the coordinates of the point that is seen.
    #[inline(always)]
    pub fn pull_coordinates(
        &self,
        cover: &Cover<P, NearestPoint<P>>,
        u: [P; 3],
        u_bar: [P; 3],
        corner_bar: &mut [[P; 2]; 3],
    ) {
        let Outline { edges, per_square, per_area, .. } = *self;
        let (zero, nearest, inside) = (P::zero(), &cover.nearest, cover.inside);
        let ends = nearest.along(P::one() - nearest.t, nearest.t);
        // Inside: v̄ⱼ = −λⱼ Σₖ ūₖ ∇λₖ, with ∇λₖ = (−e_y, e_x) / (2 area) of the edge in front of corner k.
        let mut gradient = [zero; 2];
        for k in 0..3 {
            let [ex, ey] = edges[(k + 1) % 3];
            gradient[0] -= u_bar[k] * ey;
            gradient[1] += u_bar[k] * ex;
        }
        // Outside, where t is free: t̄ gives v̄ⱼ = −nⱼ e t̄ / |e|² ∓ r t̄ / |e|² at the start and the end of the edge.
        let t_bar = nearest.of_edge([u_bar[1] - u_bar[0], u_bar[2] - u_bar[1], u_bar[0] - u_bar[2]]);
        let scale = select(nearest.free, t_bar * nearest.of_edge(per_square), zero);
        let edge = [0, 1].map(|i| nearest.of_edge([edges[0][i], edges[1][i], edges[2][i]]) * scale);
        let sides = nearest.along(-scale, scale);
        for j in 0..3 {
            for i in 0..2 {
                let within = -(u[j] * gradient[i] * per_area);
                let beyond = sides[j] * nearest.r[i] - ends[j] * edge[i];
                corner_bar[j][i] += select(inside, within, beyond);
            }
        }
    }
}

/// A triangle of which the silhouette alone is wanted.
impl<P: Real> Primitive<P> for Outline<P> {
    type Nearest = NearestPoint<P>;

    #[inline(always)]
    fn cover(&self, _sight: Sight, at: [P; 2]) -> Cover<P, NearestPoint<P>> {
        let Outline { corners, edges, per_square, per_area } = *self;
        let (zero, one) = (P::zero(), P::one());
        let mut inner = [zero; 3];
        let mut edge = |k: usize| {
            let [ex, ey] = edges[k];
            let (x, y) = (at[0] - corners[k][0], at[1] - corners[k][1]);
            // λ of the corner in front of edge k: e × (p − a) / (2 area)
            inner[(k + 2) % 3] = (ex * y - ey * x) * per_area;
            let line = x.mul_add(ex, y * ey) * per_square[k];
            let t = line.max(zero).min(one);
            let r = [x - ex * t, y - ey * t];
            (r[0].mul_add(r[0], r[1] * r[1]), t, r, line.ge(zero) & line.le(one))
        };
        let (found0, found1, found2) = (edge(0), edge(1), edge(2));

        let on0 = found0.0.le(found1.0) & found0.0.le(found2.0);
        let on1 = !on0 & found1.0.le(found2.0);
        let choose = |x0: P, x1: P, x2: P| select(on0, x0, select(on1, x1, x2));
        let square = choose(found0.0, found1.0, found2.0);
        let t = choose(found0.1, found1.1, found2.1);
        let r = std::array::from_fn(|i| choose(found0.2[i], found1.2[i], found2.2[i]));
        let free = (on0 & found0.3) | (on1 & found1.3) | (!(on0 | on1) & found2.3);

        let inside = self.contains(inner);
        let signed = select(inside, square, -square);
        Cover { signed, inside, nearest: NearestPoint { on: [on0, on1], t, free, r, inner } }
    }

    #[inline(always)]
    fn fragment(&self, _sight: Sight, _at: [P; 2], _cover: &Cover<P, NearestPoint<P>>) -> Fragment<P> {
        Fragment::default()
    }

    #[inline(always)]
    fn pull(
        &self,
        _sight: Sight,
        _at: [P; 2],
        cover: &Cover<P, NearestPoint<P>>,
        signed_bar: P,
        _fragment_bar: Option<Fragment<P>>,
        bar: &mut Self,
    ) {
        self.pull_distance(cover, signed_bar, &mut bar.corners);
    }
}
