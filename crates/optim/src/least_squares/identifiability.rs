//! What the data cannot tell apart, in words.
//!
//! Right singular vectors of the Jacobian with vanishing singular values are changes of the unknowns that leave the data the
//! same. Several of them span a space; row reduction gives it a basis in which each vector has few entries. A vector whose
//! entries are equal is a common factor, so ratios alone are told; one with opposite entries leaves a product.

use serde::Serialize;

use super::laplace::Combination;
use super::problem::Unknown;

/// A combination that the data do not tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Untold {
    /// Quantities in it, each with its relative change.
    pub changes: Vec<(String, f64)>,
    /// Whether it leaves the data exactly the same; otherwise it is lost in their noise.
    pub exact: bool,
    /// A sentence.
    pub words: String,
}

/// Entries below this part of the largest are none.
const NOTHING: f64 = 0.02;
/// Entries that differ by less than this part are equal.
const EQUAL: f64 = 0.02;

/// The combinations in words; those that leave the data the same come first.
pub(super) fn untold(combinations: &[Combination], free: &[usize], unknowns: &[Unknown]) -> Vec<Untold> {
    let mut all = Vec::new();
    for exact in [true, false] {
        let some = combinations.iter().filter(|c| c.exact == exact).map(|c| c.change.clone());
        for change in reduce(some.collect()) {
            all.push(describe(&change, exact, free, unknowns));
        }
    }
    all
}

/// A basis of the same space whose vectors have few entries: Gauss-Jordan elimination with full pivoting.
fn reduce(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = rows.first().map_or(0, Vec::len);
    let mut used = vec![false; n];
    for k in 0..rows.len() {
        let places = (k..rows.len()).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(_, j)| !used[*j]);
        let largest = places.max_by(|a, b| rows[a.0][a.1].abs().total_cmp(&rows[b.0][b.1].abs()));
        let Some((i, j)) = largest.filter(|(i, j)| rows[*i][*j] != 0.0) else { break };
        rows.swap(i, k);
        used[j] = true;
        let pivot = rows[k].clone();
        for (i, row) in rows.iter_mut().enumerate() {
            let by = if i == k { 1.0 - 1.0 / pivot[j] } else { row[j] / pivot[j] };
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= by * p);
        }
    }
    rows
}

fn describe(change: &[f64], exact: bool, free: &[usize], unknowns: &[Unknown]) -> Untold {
    let largest = change.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let kept = change.iter().enumerate().filter(|(_, x)| x.abs() > NOTHING * largest);
    let changes: Vec<(String, f64)> =
        kept.map(|(i, x)| (unknowns[free[i]].quantity.name.clone(), x / largest)).collect();
    let words = if exact { exactly(&changes) } else { in_noise(&changes) };
    Untold { changes, exact, words }
}

/// Names with a sign of change, `a, b and c`.
fn names(changes: &[(String, f64)], sign: f64) -> String {
    let all: Vec<String> =
        changes.iter().filter(|c| c.1 * sign > 0.0).map(|c| format!("`{}`", c.0)).collect();
    match &all[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn percents(changes: &[(String, f64)]) -> String {
    let each: Vec<String> = changes.iter().map(|(name, x)| format!("`{name}` by {:+.2} %", x)).collect();
    each.join(", ")
}

/// Whether all changes have the same size.
fn of_one_size(changes: &[(String, f64)]) -> bool {
    changes.iter().all(|c| (c.1.abs() - 1.0).abs() < EQUAL)
}

fn exactly(changes: &[(String, f64)]) -> String {
    let product = |sign: f64| names(changes, sign).replace(" and ", " · ").replace(", ", " · ");
    let (up, down) = (names(changes, 1.0), names(changes, -1.0));
    match changes {
        [(name, _)] => format!("`{name}` has no influence on the data: nothing can be said of it"),
        [(a, x), (b, y)] if of_one_size(changes) && x * y > 0.0 => format!(
            "only the ratio `{a}` / `{b}` is determined: the data are the same when both are multiplied by one factor"
        ),
        [_, _] if of_one_size(changes) => {
            let product = changes.iter().map(|c| format!("`{}`", c.0)).collect::<Vec<_>>().join(" · ");
            format!(
                "only the product {product} is determined: the data are the same when one is multiplied and the other \
                 divided by one factor"
            )
        }
        _ if of_one_size(changes) && (up.is_empty() || down.is_empty()) => format!(
            "only the ratios among {up}{down} are determined: the data are the same when all are multiplied by one factor"
        ),
        _ if of_one_size(changes) => format!(
            "only ratios and products are determined: the data are the same when {} are multiplied and {} divided by one \
             factor",
            product(1.0).replace(" · ", ", "),
            product(-1.0).replace(" · ", ", "),
        ),
        _ => format!("the data are the same when these change together: {}", percents(changes)),
    }
}

fn in_noise(changes: &[(String, f64)]) -> String {
    match changes {
        [(name, _)] => format!("the data hardly depend on `{name}`: its influence is lost in the noise"),
        _ => format!("the noise hides changes of these together: {}", percents(changes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_gets_a_basis_of_few_entries() {
        // Spanned by (1, 1, 0, 0) and (0, 0, 1, −2), given as two mixtures.
        let rows = vec![vec![1.0, 1.0, 1.0, -2.0], vec![1.0, 1.0, -0.5, 1.0]];
        let reduced = reduce(rows);
        let mut sizes: Vec<usize> =
            reduced.iter().map(|row| row.iter().filter(|x| x.abs() > 1e-12).count()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [2, 2]);
    }
}
