"""Prints the figures that statistics.rs compares with: pip install scipy statsmodels."""

import numpy as np
import pandas as pd
import scipy
import scipy.stats as st
import statsmodels
import statsmodels.api as sm
from statsmodels.formula.api import ols

print("scipy", scipy.__version__, "statsmodels", statsmodels.__version__)
for p, f in [(0.975, 1), (0.975, 4), (0.975, 19.5), (0.995, 200)]:
    print("t", p, f, repr(float(st.t.ppf(p, f))))
for x, a, b in [(3.5, 1, 12), (0.2, 4, 7), (40.0, 2, 30)]:
    print("F", x, a, b, repr(float(st.f.sf(x, a, b))))

x = [9.1, 9.7, 8.8, 10.4, 9.9, 9.3]
low, high = st.t.interval(0.95, len(x) - 1, np.mean(x), st.sem(x))
print("interval", repr(float(np.mean(x))), repr(float((high - low) / 2)))
y = [9.9, 10.1, 9.6, 10.9, 10.8, 9.8]
paired = st.ttest_rel(y, x).confidence_interval(0.95)
print("paired", repr(float((paired.high + paired.low) / 2)), repr(float((paired.high - paired.low) / 2)))
boot = st.bootstrap((x,), np.mean, n_resamples=200_000, method="percentile", rng=1).confidence_interval
print("bootstrap", boot.low, boot.high)

# A 2 x 3 design with three repetitions.
cells = {("a", 0): [10, 12, 11], ("a", 1): [14, 15, 13], ("a", 2): [19, 17, 18],
         ("b", 0): [11, 10, 12], ("b", 1): [20, 22, 21], ("b", 2): [29, 31, 33]}
rows = [(f, g, v) for (f, g), values in cells.items() for v in values]
frame = pd.DataFrame(rows, columns=["f", "g", "v"])
table = sm.stats.anova_lm(ols("v ~ C(f) * C(g)", frame).fit(), typ=2)
print((table["sum_sq"] / table["sum_sq"].sum()).map(repr).to_string())
print(table["PR(>F)"].map(repr).to_string())
effect = [np.mean([cells["b", g][k] for g in range(3)]) - np.mean([cells["a", g][k] for g in range(3)])
          for k in range(3)]
low, high = st.t.interval(0.95, 2, np.mean(effect), st.sem(effect))
print("effect", repr(float(np.mean(effect))), repr(float((high - low) / 2)))

# A 2^3 design: effects are twice the coefficients of a regression on -1 and 1.
v = np.array([60, 72, 54, 68, 52, 83, 45, 80], float)
a, b, c = [np.array([(i >> s & 1) * 2 - 1 for i in range(8)]) for s in (2, 1, 0)]
fit = sm.OLS(v, np.column_stack([np.ones(8), a, b, c, a * b, a * c, b * c])).fit()
print("2^3", [float(e) for e in (fit.params[1:] * 2).round(12)])

batches = [[10.1, 10.3, 9.9], [11.2, 11.0, 11.5], [9.0, 9.4, 9.1]]
print("batches", repr(float(st.f_oneway(*batches).pvalue)), np.mean([np.var(b, ddof=1) for b in batches]),
      (3 * np.var([np.mean(b) for b in batches], ddof=1) - np.mean([np.var(b, ddof=1) for b in batches])) / 3)
