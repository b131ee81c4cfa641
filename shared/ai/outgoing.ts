import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {findSettings, listCuratedModules} from '../../sql/registry.ts'
import {AI_SAMPLE_POLICIES, type AiSamplePolicy, usualSettings} from '../registry/settings.ts'
import {isCalledPersonal, looksPersonal} from './personal.ts'
import {shapeOf, shapesOf} from './shape.ts'

/** A column of a file with the values of its sample. `pii`: annotated so, or mapped, or perhaps about to be mapped, to a field that is. */
export type Sampled = {name: string; samples: readonly string[]; pii: boolean}

/** What is sent of it. `personal`: there is nothing but shapes. */
export type Outgoing = {name: string; samples: string[]; personal: boolean}

/** The most telling that was sent of a file: values at will, values of columns that are nobody's, shapes alone, or nothing. */
export type Sent = 'allow' | 'values' | 'masked' | 'none'

const Policy = z.enum(AI_SAMPLE_POLICIES)
/** As much of an annotation as decides here. */
const Readable = z.array(z.looseObject({apiName: z.string(), pii: z.boolean().optional()}))

/** Where what the org says of its personal data cannot be read, nothing leaves. */
export const readSamplePolicy = async (db: Db, org: string): Promise<AiSamplePolicy> => {
  const policy = Policy.safeParse(((await findSettings(db, org)) ?? usualSettings).aiSamplePolicy)
  const modules = await listCuratedModules(db, org)
  const isReadable = modules.every(({annotations}) => Readable.safeParse(annotations).success)
  return policy.success && isReadable ? policy.data : 'deny'
}

/** Of a column no more is needed, and of a value no more is told. */
const mostSamples = 20
const mostCharacters = 60
const mostHeader = 100
/** What has more words than this is prose, and prose may be about anybody. */
const mostWords = 6
/** A shorter value is found in anything. */
const fewestShared = 4

/**
 * Columns as they may leave the server: to a model, an MCP client, a log. Personal data leaves as shapes at most, whatever the policy: a column is
 * personal where it is said to be, or one of its values looks so. `allow` lets the rest go as it is. `masked` lets distinct values go, of columns
 * that are neither called as people's are nor hold prose. `deny` lets nothing go but the names of the columns. A value of a personal column is
 * struck out wherever else it stands.
 */
export const maskSamples = (policy: AiSamplePolicy, columns: readonly Sampled[]): {columns: Outgoing[]; samples: Sent} => {
  const judged = columns.map(column => ({...column, personal: isPersonal(policy, column)}))
  const strike = striking(judged)
  const outgoing = judged.map(({name, samples, personal}) => ({
    name: nameOf(name, strike),
    samples: policy === 'deny' ? [] : personal ? shapesOf(filled(samples)) : valuesOf(samples, strike),
    personal,
  }))
  return {columns: outgoing, samples: sentOf(policy, outgoing)}
}

/** What a person wrote, as it may leave: personal values of these columns, and what looks personal itself, are struck out. */
export const maskText = (text: string, columns: readonly Sampled[], policy: AiSamplePolicy): string => {
  const strike = striking(columns.map(column => ({...column, personal: isPersonal(policy, column)})))
  const words = text.normalize('NFC').split(/(\s+)/)
  return strike(words.map(word => (looksPersonal(word) ? shapeOf(word) : word)).join(''))
}

const isPersonal = (policy: AiSamplePolicy, {name, samples, pii}: Sampled) =>
  pii || samples.some(looksPersonal) || (policy !== 'allow' && (isCalledPersonal(name) || samples.some(isProse)))

const isProse = (text: string) => text.length > mostCharacters || text.trim().split(/\s+/, mostWords + 1).length > mostWords

const filled = (samples: readonly string[]) => samples.filter(text => text.trim() !== '').slice(0, mostSamples)

const valuesOf = (samples: readonly string[], strike: (text: string) => string) => [
  // Struck before it is cut, so that no half of a value is left.
  ...new Set(filled(samples).map(text => cut(strike(text.normalize('NFC')), mostCharacters))),
]

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

/** A file without a header has its first row for one. */
const nameOf = (name: string, strike: (text: string) => string) => {
  return looksPersonal(name) ? shapeOf(name) : cut(strike(name.normalize('NFC')), mostHeader)
}

/** Takes the values of personal columns out of a text, whatever their case and spelling of accents; where that is not plain, all of the text. */
const striking = (columns: readonly (Sampled & {personal: boolean})[]) => {
  const byStart = new Map<string, Set<string>>()
  for (const {samples, personal} of columns)
    for (const secret of personal ? samples.map(folded) : []) {
      if (secret.length < fewestShared) continue
      const start = secret.slice(0, fewestShared)
      byStart.set(start, (byStart.get(start) ?? new Set()).add(secret))
    }
  const findIn = (text: string): string[] => {
    const plain = folded(text)
    return Array.from({length: plain.length}, (_, at) => at).flatMap(at => {
      const begun = byStart.get(plain.slice(at, at + fewestShared))
      return begun ? [...begun].filter(secret => plain.startsWith(secret, at)) : []
    })
  }
  return (text: string): string => {
    const left = findIn(text).reduce(
      (rest, secret) => rest.replaceAll(new RegExp(secret.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu'), STRUCK),
      text,
    )
    return findIn(left).length > 0 ? shapeOf(text) : left
  }
}

const STRUCK = '[…]'

const folded = (text: string) =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}|\p{Cf}/gu, '')
    .toLowerCase()
    .trim()

/** Of some of what `maskSamples` answered. */
export const sentOf = (policy: AiSamplePolicy, columns: readonly Outgoing[]): Sent => {
  const sent = columns.filter(({samples}) => samples.length > 0)
  if (sent.length === 0) return 'none'
  if (sent.every(({personal}) => personal)) return 'masked'
  return policy === 'allow' ? 'allow' : 'values'
}
