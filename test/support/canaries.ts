/** Returns the content of a personal cell: twelve letters that occur in no shape or word, different for each number. */
export const canary = (number: number): string => {
  let [rest, name] = [number * 7_919 + 104_729, '']
  for (let at = 0; at < 12; at++) {
    name += alphabet[(rest + at * at) % alphabet.length]
    rest = Math.floor(rest / 3) + at * 31
  }
  return name
}

const alphabet = 'bcdfghjkmpqvwxz'

/** Removes ids from a log, because their random letters may equal part of a canary. */
export const withoutIds = (log: string): string => log.replaceAll(/\b[a-z]{3}_[0-9a-z]{26}\b/g, 'an id')

/**
 * Lists the forms in which a secret occurs in sent text: any five of its letters in a row, also reversed; the whole secret in hex; or part of
 * its base64 form.
 */
export const traces = (secret: string, sent: string): string[] => {
  const {folded, runs} = readSent(sent)
  const plain = secret.normalize('NFKC').toLowerCase()
  const encoded = {
    hex: Buffer.from(secret).toString('hex'),
    hexOfUpper: Buffer.from(secret.toUpperCase()).toString('hex'),
    hexOfLower: Buffer.from(plain).toString('hex'),
  }
  const turned = [...plain].toReversed().join('')
  // The secret is encoded at each possible offset. The characters at the ends are dropped, because they depend on the neighbouring bytes.
  const base64 = [0, 1, 2].map(before =>
    Buffer.from(`${' '.repeat(before)}${secret}`)
      .toString('base64')
      .slice(4, 12),
  )
  return [
    ...(partsOf(plain).some(part => runs.has(part)) ? ['raw'] : []),
    ...(partsOf(turned).some(part => runs.has(part)) ? ['reversed'] : []),
    ...Object.entries(encoded).flatMap(([how, form]) => (folded.includes(form) ? [how] : [])),
    ...base64.filter(form => sent.includes(form)).map(() => 'base64'),
  ]
}

const partLength = 5
const partsOf = (text: string) => Array.from({length: text.length - partLength + 1}, (_, at) => text.slice(at, at + partLength))

type ReadInput = {sent: string; folded: string; runs: Set<string>}
let read: ReadInput = {sent: '', folded: '', runs: new Set()}

/** Converts the sent text to the searched forms. The result is cached until another text is searched. */
const readSent = (sent: string): ReadInput => {
  if (read.sent === sent) return read
  const folded = sent.normalize('NFKC').toLowerCase()
  const found = folded.match(new RegExp(`[${alphabet}]{${partLength},}`, 'g')) ?? []
  read = {sent, folded, runs: new Set(found.flatMap(partsOf))}
  return read
}
