/** One sample in Prometheus text format: `name{label="value",…}` and its value. */
export type Sample = {name: string; labels: Record<string, string>; value: number}

/** Parses the text. Throws at a line that is neither a comment nor a sample. */
export const readSamples = (text: string): Sample[] =>
  text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => {
      const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      if (name === undefined) throw new Error(`Not a sample: ${line}`)
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, of]) => [label, of])
      return {name, labels: Object.fromEntries(pairs), value: value === 'Nan' ? Number.NaN : Number(value)}
    })

/** Sums the samples that have this name and these labels. */
export const sumOf = (samples: Sample[], name: string, labels: Record<string, string> = {}): number =>
  samples
    .filter(sample => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, {value}) => sum + value, 0)
