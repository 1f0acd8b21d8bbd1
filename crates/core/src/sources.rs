//! Sources: the publications that scenes, tasks, methods and experiments follow. `REFERENCES.md` lists them
//! in full.

use std::fmt;

use serde::Serialize;

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Key in `REFERENCES.md`.
    pub key: &'static str,
    /// What the field calls it.
    pub name: &'static str,
    /// First author, venue and year.
    pub citation: &'static str,
}

impl Source {
    const fn new(key: &'static str, name: &'static str, citation: &'static str) -> Self {
        Source { key, name, citation }
    }

    /// A place in it: a section, a figure, an example of its code.
    pub const fn at(self, place: &'static str) -> Citation {
        Citation { source: self, place: Some(place) }
    }

    /// The whole of it.
    pub const fn whole(self) -> Citation {
        Citation { source: self, place: None }
    }
}

/// A place in a source, shown as `gradSim, C.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The source.
    #[serde(flatten)]
    pub source: Source,
    /// Section, figure or example; the whole source if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<&'static str>,
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            None => f.write_str(self.source.name),
            Some(place) => write!(f, "{}, {place}", self.source.name),
        }
    }
}

/// Global search on rugged landscapes: Bayesian optimization over semi-local leaps.
pub const BO_LEAP: Source = Source::new("bo-leap", "BO-Leap", "Antonova et al., CoRL 2022");
/// Differentiable multiphysics and rendering.
pub const GRADSIM: Source = Source::new("gradsim", "gradSim", "Jatavallabhula et al., ICLR 2021");
/// Rewarped, a parallel differentiable multiphysics platform, and SAPO, reinforcement learning by analytic
/// gradients.
pub const REWARPED: Source = Source::new("rewarped", "Rewarped", "Xing et al., ICLR 2025");
/// DFlex's tasks of locomotion, and SHAC, short-horizon actor-critic learning.
pub const DFLEX: Source = Source::new("shac", "DFlex", "Xu et al., ICLR 2022");
/// Brax, and policy gradients by differentiating through its steps.
pub const APG: Source = Source::new("apg", "Brax", "Freeman et al., NeurIPS Datasets and Benchmarks 2021");
/// Policy optimization by clipped ratios of densities.
pub const PPO: Source = Source::new("ppo", "PPO", "Schulman et al., 2017");
/// Actor-critic learning from a replay buffer with rewarded entropy.
pub const SAC: Source = Source::new("sac", "SAC", "Haarnoja et al., ICML 2018");
/// Policy optimization by short rollouts of a learned model.
pub const MBPO: Source = Source::new("mbpo", "MBPO", "Janner et al., NeurIPS 2019");
/// The adjoint of articulated bodies.
pub const ARTICULATED_ADJOINT: Source =
    Source::new("articulated-adjoint", "articulated adjoint", "Qiao et al., ICML 2021");
/// Adaptive integration for right gradients of stiff contact, and contacts from distance.
pub const DIFFMJX: Source = Source::new("diffmjx", "DiffMJX", "Paulus et al., 2025");
/// Soft-body manipulation tasks of the material point method.
pub const PLASTICINE_LAB: Source = Source::new("plasticinelab", "PlasticineLab", "Huang et al., ICLR 2021");
/// First-order optimization by moments of gradients.
pub const ADAM: Source = Source::new("adam", "Kingma and Ba", "Kingma and Ba, ICLR 2015");
/// Numerical optimization: line searches and quasi-Newton methods.
pub const NOCEDAL_WRIGHT: Source =
    Source::new("nocedal-wright", "Nocedal and Wright", "Nocedal and Wright, 2006");
/// Damped Gauss-Newton steps whose scale is that of the columns.
pub const MORE: Source = Source::new("more", "Moré", "Moré, Numerical Analysis 1978");
/// Restarts of CMA-ES with growing populations.
pub const IPOP_CMA_ES: Source = Source::new("ipop-cma-es", "IPOP-CMA-ES", "Auger and Hansen, CEC 2005");
/// CMA-ES with a diagonal covariance.
pub const SEP_CMA_ES: Source = Source::new("sep-cma-es", "separable CMA-ES", "Ros and Hansen, PPSN 2008");
/// Differential dynamic programming with control limits.
pub const BOX_DDP: Source = Source::new("box-ddp", "box-DDP", "Tassa et al., ICRA 2014");
/// The best of many noisy plans.
pub const PREDICTIVE_SAMPLING: Source =
    Source::new("predictive-sampling", "predictive sampling", "Howell et al., 2022");
/// Model-predictive path integral control.
pub const MPPI: Source = Source::new("mppi", "MPPI", "Williams et al., ICRA 2017");
/// The cross-entropy method.
pub const CEM: Source = Source::new("cem", "cross-entropy method", "Rubinstein and Kroese, 2004");
/// The classical Runge-Kutta method.
pub const KUTTA: Source = Source::new("rk4", "Kutta", "Kutta, 1901");
/// The Runge-Kutta pair of orders 5 and 4.
pub const TSITOURAS: Source = Source::new("tsit5", "Tsitouras", "Tsitouras, 2011");
/// The Runge-Kutta pair of orders 5 and 4.
pub const DORMAND_PRINCE: Source = Source::new("dopri5", "Dormand and Prince", "Dormand and Prince, 1980");

/// Every source above.
pub const SOURCES: &[Source] = &[
    BO_LEAP,
    GRADSIM,
    REWARPED,
    DFLEX,
    APG,
    PPO,
    SAC,
    MBPO,
    ARTICULATED_ADJOINT,
    DIFFMJX,
    PLASTICINE_LAB,
    ADAM,
    NOCEDAL_WRIGHT,
    MORE,
    IPOP_CMA_ES,
    SEP_CMA_ES,
    BOX_DDP,
    PREDICTIVE_SAMPLING,
    MPPI,
    CEM,
    KUTTA,
    TSITOURAS,
    DORMAND_PRINCE,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// `REFERENCES.md` has an item with the key, the first author and the year of every source.
    #[test]
    fn every_source_is_a_reference() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../REFERENCES.md");
        let text = std::fs::read_to_string(path).unwrap();
        for Source { key, citation, .. } in SOURCES {
            let item = text.split("\n- ").find(|item| item.starts_with(&format!("**[{key}]**")));
            let item = item.unwrap_or_else(|| panic!("no reference has the key [{key}]"));
            let (author, year) =
                (citation.split([' ', ',']).next().unwrap(), &citation[citation.len() - 4..]);
            assert!(item.contains(author) && item.contains(year), "[{key}] is not by {author}, {year}");
        }
    }

    /// No source is listed twice in `REFERENCES.md`.
    #[test]
    fn keys_differ() {
        let text = include_str!("../../../REFERENCES.md");
        let mut keys: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("- **[")).collect();
        keys.iter_mut().for_each(|line| *line = line.split(']').next().unwrap_or_default());
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
