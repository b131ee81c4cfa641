import type {AiSamplePolicy} from '../../registry/settings.ts'
import {maskSamples, maskText, type Outgoing, type Sampled, type Sent, sentOf} from '../outgoing.ts'

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

/** `beside`: columns nothing is said of, and whose personal values are struck out of everything as those of `judged` are. */
export const openOutflow = (policy: AiSamplePolicy, judged: readonly Sampled[], beside: readonly Sampled[] = []): Outflow => {
  const known = [...judged, ...beside]
  const own = maskSamples(policy, known).columns.slice(0, judged.length)
  let sent = sentOf(policy, own)
  const text = (words: string) => maskText(words, known, policy)
  const value = (whole: unknown): unknown => {
    const parts = new Set<string>()
    gather(whole, parts)
    const together = [...parts].join('\n').normalize('NFC')
    // Nearly always there is nothing to strike, and to see that of all at once is as quick as of one.
    return text(together) === together ? whole : replace(whole, {text, value})
  }
  const sample = (columns: readonly Sampled[]) => {
    const masked = maskSamples(policy, [...columns, ...known]).columns.slice(0, columns.length)
    const told = sentOf(policy, masked)
    if (TELLING.indexOf(told) > TELLING.indexOf(sent)) sent = told
    return masked
  }
  return {policy, columns: own, text, value, sample, sent: () => sent}
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

const replace = (whole: unknown, {text, value}: Pick<Outflow, 'text' | 'value'>): unknown => {
  if (typeof whole === 'string') return text(whole)
  // A long number stands for somebody as its digits do.
  if (typeof whole === 'number') return text(String(whole)) === String(whole) ? whole : text(String(whole))
  if (Array.isArray(whole)) return whole.map(value)
  if (typeof whole !== 'object' || whole === null) return whole
  return Object.fromEntries(Object.entries(whole).map(([name, part]) => [text(name), value(part)]))
}
