/** Returns the amount per second and the CPU microseconds per message, over all samples of a round. */
export function rate(samples, amount = 1) {
  const sum = (key) => samples.reduce((total, sample) => total + sample[key], 0)
  return { value: (sum('count') * amount) / sum('seconds'), cpu: (sum('cpuSeconds') * 1e6) / sum('count') }
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
