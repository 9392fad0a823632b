require('acp').prompt('work 3')
_G.bench_expected = (_G.bench_expected or 0) + 1
