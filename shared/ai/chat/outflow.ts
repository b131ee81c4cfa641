import type {AiSamplePolicy} from '../../registry/settings.ts'
import {maskSamples, type Outgoing, openTextMask, type Sampled, type Sent, sentOf} from '../outgoing.ts'

/** The one way out of a conversation: what is asked, what tools answer and what was said before goes through it. */
export type Outflow = {
  policy: AiSamplePolicy
  /** Of the file that is asked about. */
  columns: Outgoing[]
  text(text: string): string
  /** The same of what somebody said: there the words of personal values are struck out one by one, too. */
  said(text: string): string
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
  const masked = maskSamples(policy, known).columns
  const own = masked.slice(0, judged.length)
  let sent = sentOf(policy, own)
  const text = openTextMask(policy, known)
  const said = openTextMask(policy, [...known, {name: '', samples: wordsOf(known, masked), pii: true}])
  const value = (whole: unknown): unknown => {
    const parts = new Set<string>()
    gather(whole, parts)
    const together = [...parts].join('\n').normalize('NFC')
    // Nearly always there is nothing to strike, and to see that of all at once is as quick as of one.
    return text(together) === together ? whole : replace(whole, {text, value})
  }
  const sample = (columns: readonly Sampled[]) => {
    const outgoing = maskSamples(policy, [...columns, ...known]).columns.slice(0, columns.length)
    const told = sentOf(policy, outgoing)
    if (TELLING.indexOf(told) > TELLING.indexOf(sent)) sent = told
    return outgoing
  }
  return {policy, columns: own, text, said, value, sample, sent: () => sent}
}

/** A shorter word is found in anything, but for writing whose words are short. */
const fewestShared = 4

/** The words of personal values, without those that leave in headers and in what is nobody's. */
const wordsOf = (known: readonly Sampled[], masked: readonly Outgoing[]): string[] => {
  const split = (text: string) => text.normalize('NFC').match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  const leaving = masked.flatMap(({name, samples, personal}) => (personal ? [name] : [name, ...samples]))
  const usual = new Set(leaving.flatMap(split).map(word => word.toLowerCase()))
  const words = known.flatMap(({samples}, at) => (masked[at]!.personal ? samples.flatMap(split) : []))
  return words.filter(word => (word.length >= fewestShared || /\p{Lo}/u.test(word)) && !usual.has(word.toLowerCase()))
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
