r"""The solver: everyone's posterior in a series of releases, solved for everyone at once.

**Model.** Person $p$ has an unknown value $x_{pt}$ in each release $t$ in which $p$ is, and is in one of the groups
$G_{pt}$ that are possible by what the adversary knows: one, or all whose published combination fits. Values are a
Markov chain with transition matrix $P$; an absence is one more transition. First values have a prior $\pi_p$. Group $g$
shows value $v$ exactly $n_{gv}$ times among its members, of whom $f_g$ are unknown (counterfeits, strangers) and have
value $v$ with prior share $s_v$. A *world* gives everyone a group and a value in each release so that all counts hold,
and weighs

$$ w = \prod_p \pi_p(x_{p,first}) \prod_t P(x_{pt}, x_{p,t+1}) \prod_t h(x_{pt})^{l_{pt}} (1 - h(x_{pt}))^{1 - l_{pt}}
   \prod_{free} s , $$

where $l_{pt}$ says whether $p$ leaves after $t$ and $h(v)$ is the departure rate of value $v$. The posterior of
$x_{pt} = v$ is the weight of the worlds where it holds over that of all worlds. Adding up worlds is computing
permanents, which is hard; the solver goes from what is easy to what is exact:

1. *Constraint propagation* (`propagation`) removes what no world allows, by arc consistency along chains and by
   counting.
2. *Iterative scaling* (`scaling`): the maximum-entropy distribution with the published counts in expectation. It has
   one multiplier $\lambda_{gv}$ for each *cell* (group and value), and a person's history weighs
   $\pi(x_1) \prod P(x_t, x_{t+1}) \prod_t \sum_{g \in G_t} \lambda_g(x_t)$. Multipliers are fitted release by release,
   $\lambda_{gv} \leftarrow \lambda_{gv} n_{gv} / E[n_{gv}]$, between forward and backward messages.
3. *Belief propagation* (`belief_propagation`, `permanents`): two damped rounds. The cavity of a person in a release is
   what prior and all other releases say; each group answers with the message of its exact counts.
4. *Small components* (`components`) are solved over all of their worlds. Only this and step 1 call a value certain.

Departure rates, and of groups made by value the prior shares of newcomers and counterfeits, are estimated by EM around
steps 2 and 3 (`estimation`); transitions by EM over pairs of releases (`transition_learning`) or by regression on the
holder's tables (`transition_regression`); a prior by people's features (`learned_prior`). `labels` matches seats and
labels of a panel; `deduction` explains why a value is certain.

`solve` does all of this for a list of `Observation` and returns a `Posterior`.
"""

from reissue.solver.estimation import Departures
from reissue.solver.observation import Observation
from reissue.solver.posterior import Posterior, solve
from reissue.solver.scaling import Scaling
from reissue.solver.transitions import Model

__all__ = ["Departures", "Model", "Observation", "Posterior", "Scaling", "solve"]
