// The bare client that collects the calls of one tick and writes them together.
process.env.BENCH_ONE_WRITE = '1'
await import('./bare.js')
