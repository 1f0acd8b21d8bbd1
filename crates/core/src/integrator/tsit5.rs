//! Tsitouras' fifth-order pair (Comput. Math. Appl. 62, 2011).
//!
//! The published coefficients have about 16 digits; entries that the order conditions determine (row sums)
//! are computed here from the others, so that the conditions hold to round-off.

use super::tableau::Tableau;

const C3: f64 = 0.327;
const C4: f64 = 0.9;
const C5: f64 = 0.9800255409045097;
const A32: f64 = 0.335480655492357;
const A42: f64 = -6.359448489975075;
const A43: f64 = 4.362295432869581;
const A52: f64 = -11.748883564062828;
const A53: f64 = 7.495539342889836;
const A54: f64 = -0.09249506636175525;
const A62: f64 = -12.92096931784711;
const A63: f64 = 8.159367898576159;
const A64: f64 = -0.071584973281401;
const A65: f64 = -0.02826905039406838;
const B: [f64; 7] = [
    0.09646076681806523,
    0.01,
    0.4798896504144996,
    1.379008574103742,
    -3.290069515436081,
    2.324710524099774,
    0.0,
];

/// Order 5 with an embedded order 4; usually the best choice at moderate tolerances.
pub static TSIT5: Tableau = Tableau {
    name: "tsit5",
    c: &[0.0, 0.161, C3, C4, C5, 1.0, 1.0],
    a: &[
        &[],
        &[0.161],
        &[C3 - A32, A32],
        &[C4 - A42 - A43, A42, A43],
        &[C5 - A52 - A53 - A54, A52, A53, A54],
        &[1.0 - A62 - A63 - A64 - A65, A62, A63, A64, A65],
        &[B[0], B[1], B[2], B[3], B[4], B[5]],
    ],
    b: &B,
    error: Some(&[
        -0.001_780_011_052_225_777,
        -0.0008164344596567469,
        0.007880878010261995,
        -0.1447110071732629,
        0.5823571654525552,
        -0.45808210592918697,
        1.0 / 66.0,
    ]),
    error_order: 5.0,
    first_same_as_last: true,
};
