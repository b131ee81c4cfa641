import {mapYielding} from '../../concurrency/map-yielding.ts'
import type {AiSamplePolicy} from '../../configuration/settings.ts'
import {uniqueNames} from '../../files/row.ts'
import {type MaskedColumn, maskSamples, openTextMask, type SampledColumn, type SentSamples, sentOf} from '../sample-masking.ts'

export type OutputMask = {
  policy: AiSamplePolicy
  /** Masked columns of the file that the question is about. */
  columns: MaskedColumn[]
  text(text: string): string
  /** Masks a question or an earlier turn. Unlike in other texts, single words of personal values are redacted too. */
  turnText(text: string): string
  /**
   * Masks texts and numbers. Leaves property names, because Lading chose them. In the result of an expression (`value`), also masks the property
   * names.
   */
  value(value: unknown): unknown
  /** Masks further columns, and updates the level that `sent` returns. */
  sample(columns: readonly SampledColumn[]): Promise<MaskedColumn[]>
  /** The most revealing level of data sent so far. */
  sent(): SentSamples
}

const TELLING: SentSamples[] = ['none', 'masked', 'values', 'allow']

/**
 * Opens the mask for everything that is sent to a model. `judged`: the columns to send. `beside`: other columns, which are not sent. Personal values
 * of both are redacted in all texts.
 */
export const openOutputMask = async (
  policy: AiSamplePolicy,
  judged: readonly SampledColumn[],
  beside: readonly SampledColumn[] = [],
): Promise<OutputMask> => {
  const known = [...judged, ...beside]
  const masked = (await maskSamples(policy, known)).columns
  const names = uniqueNames(masked.slice(0, judged.length).map(({name}) => name))
  const own = names.map((name, at) => ({...masked[at]!, name}))
  let sent = sentOf(policy, own)
  const text = await openTextMask(policy, known)
  const turnText = await openTextMask(policy, [...known, {name: '', samples: await wordsOf(known, masked), pii: true}])
  const mask = (whole: unknown, withNames: boolean): unknown => {
    const parts = new Set<string>()
    gather(whole, parts)
    const together = [...parts].join('\n').normalize('NFC')
    // Usually nothing needs to be redacted, and checking all texts at once is as fast as checking one.
    return text(together) === together ? whole : replace(whole, {text, mask, withNames})
  }
  const sample = async (columns: readonly SampledColumn[]) => {
    const outgoing = (await maskSamples(policy, [...columns, ...known])).columns.slice(0, columns.length)
    const level = sentOf(policy, outgoing)
    if (TELLING.indexOf(level) > TELLING.indexOf(sent)) sent = level
    return outgoing
  }
  return {policy, columns: own, text, turnText, value: whole => mask(whole, false), sample, sent: () => sent}
}

/**
 * Minimum length of a redacted word. Shorter words occur by chance. Words of scripts without capitals have no minimum, because they are short.
 */
const fewestShared = 4

/** Returns the words of personal values, without words that are sent anyway in headers and values of other columns. */
const wordsOf = async (known: readonly SampledColumn[], masked: readonly MaskedColumn[]): Promise<string[]> => {
  const split = (text: string) => text.normalize('NFC').match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  const leaving = masked.flatMap(({name, samples, personal}) => (personal ? [name] : [name, ...samples]))
  const usual = new Set<string>()
  await mapYielding(leaving, text => {
    for (const word of split(text)) usual.add(word.toLowerCase())
  })
  const words = new Set<string>()
  await mapYielding(known, ({samples}, at) => {
    if (masked[at]!.personal)
      for (const word of samples.flatMap(split)) if (revealsValue(word) && !usual.has(word.toLowerCase())) words.add(word)
  })
  return [...words]
}

const revealsValue = (word: string) => word.length >= fewestShared || /\p{Lo}/u.test(word)

const gather = (value: unknown, into: Set<string>): void => {
  if (typeof value === 'string') into.add(value)
  else if (typeof value === 'number') into.add(String(value))
  else if (typeof value === 'object' && value !== null)
    for (const [name, part] of Object.entries(value)) {
      if (!Array.isArray(value)) into.add(name)
      gather(part, into)
    }
}

type Masking = {text: (text: string) => string; mask: (whole: unknown, withNames: boolean) => unknown; withNames: boolean}

const replace = (whole: unknown, {text, mask, withNames}: Masking): unknown => {
  if (typeof whole === 'string') return text(whole)
  // A long number identifies a person just as its digits in a text do, so it is masked like a text.
  if (typeof whole === 'number') return text(String(whole)) === String(whole) ? whole : text(String(whole))
  if (Array.isArray(whole)) return whole.map(part => mask(part, withNames))
  if (typeof whole !== 'object' || whole === null) return whole
  const entries = Object.entries(whole)
  return Object.fromEntries(entries.map(([name, part]) => [withNames ? text(name) : name, mask(part, withNames || name === 'value')]))
}
