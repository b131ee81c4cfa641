import type {AiSamplePolicy} from '../../registry/settings.ts'
import {maskSamples, maskText, type Outgoing, type Sampled, type Sent} from '../outgoing.ts'

/** The one way out of a conversation: what is asked, what tools answer and what was said before goes through it. */
export type Outflow = {
  policy: AiSamplePolicy
  /** Of the file that is asked about. */
  columns: Outgoing[]
  text(text: string): string
  /** The same of every text in a value, and of the names in it. */
  value(value: unknown): unknown
  /** Further columns, and that something of them is sent. */
  sample(columns: readonly Sampled[]): Outgoing[]
  /** The most telling of what was sent so far. */
  sent(): Sent
}

const TELLING: Sent[] = ['none', 'masked', 'values', 'allow']

export const openOutflow = (policy: AiSamplePolicy, judged: readonly Sampled[]): Outflow => {
  const given = maskSamples(policy, judged)
  let sent = given.samples
  const text = (words: string) => maskText(words, judged, policy)
  const value = (whole: unknown): unknown => {
    const parts = new Set<string>()
    gather(whole, parts)
    const together = [...parts].join('\n').normalize('NFC')
    // Nearly always there is nothing to strike, and to see that of all at once is as quick as of one.
    return text(together) === together ? whole : replace(whole, text)
  }
  const sample = (columns: readonly Sampled[]) => {
    // Beside those of the file, so that personal values of one are struck out of the other.
    const masked = maskSamples(policy, [...judged, ...columns])
    const own = maskSamples(policy, columns).samples
    if (TELLING.indexOf(own) > TELLING.indexOf(sent)) sent = own
    return masked.columns.slice(judged.length)
  }
  return {policy, columns: given.columns, text, value, sample, sent: () => sent}
}

const gather = (value: unknown, into: Set<string>): void => {
  if (typeof value === 'string') into.add(value)
  else if (typeof value === 'number') into.add(String(value))
  else if (typeof value === 'object' && value !== null)
    for (const [name, part] of Object.entries(value)) {
      if (!Array.isArray(value)) into.add(name)
      gather(part, into)
    }
}

const replace = (value: unknown, by: (text: string) => string): unknown => {
  if (typeof value === 'string') return by(value)
  // A long number stands for somebody as its digits do.
  if (typeof value === 'number') return by(String(value)) === String(value) ? value : by(String(value))
  if (Array.isArray(value)) return value.map(part => replace(part, by))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [by(name), replace(part, by)]))
}
