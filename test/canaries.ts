/** What stands in a personal cell of a test: twelve letters that no shape and no word has, another for every number. */
export const canary = (number: number): string => {
  let [rest, name] = [number * 7_919 + 104_729, '']
  for (let at = 0; at < 12; at++) {
    name += alphabet[(rest + at * at) % alphabet.length]
    rest = Math.floor(rest / 3) + at * 31
  }
  return name
}

const alphabet = 'bcdfghjkmpqvwxz'

/** How a value can be found again in what was sent: as it is, folded, turned round, encoded, or a part of it. */
export const traces = (secret: string, sent: string): string[] => {
  const folded = sent.normalize('NFKC').toLowerCase()
  const forms = {
    raw: secret.toLowerCase(),
    reversed: [...secret.toLowerCase()].toReversed().join(''),
    hex: Buffer.from(secret).toString('hex'),
    hexOfUpper: Buffer.from(secret.toUpperCase()).toString('hex'),
    part: secret.slice(3, 10).toLowerCase(),
  }
  // Wherever it stood in what was encoded; the characters at its ends depend on what was beside it.
  const encoded = [0, 1, 2].map(before =>
    Buffer.from(`${' '.repeat(before)}${secret}`)
      .toString('base64')
      .slice(4, 12),
  )
  return [
    ...Object.entries(forms).flatMap(([how, form]) => (folded.includes(form) ? [how] : [])),
    ...encoded.filter(form => sent.includes(form)).map(() => 'base64'),
  ]
}
