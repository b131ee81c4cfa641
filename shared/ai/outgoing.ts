import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {findSettings, listCuratedModules} from '../../sql/registry.ts'
import {AI_SAMPLE_POLICIES, type AiSamplePolicy, usualSettings} from '../registry/settings.ts'
import {isCalledPersonal, looksLikeNames, looksPersonal, shapePersonal} from './personal.ts'
import {shapeOf, shapesOf} from './shape.ts'
import {openStriking, STRUCK} from './striking.ts'

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
/** Of a text that is cut as short as this nobody looks at the rest. */
const mostRead = 400
/** What has more words than this is prose, and prose may be about anybody. */
const mostWords = 6

/**
 * Columns as they may leave the server: to a model, an MCP client, a log. Personal data leaves as shapes at most, whatever the policy: a column is
 * personal where it is said to be, or one of its values looks so. `allow` lets the rest go as it is. `masked` lets distinct values go, of columns
 * that neither are called nor look as people's do, and hold no prose. `deny` lets nothing go but the names of the columns. A value of a personal
 * column is struck out wherever else it stands.
 */
export const maskSamples = (policy: AiSamplePolicy, columns: readonly Sampled[]): {columns: Outgoing[]; samples: Sent} => {
  const judged = columns.map(column => ({...column, personal: isPersonal(policy, column)}))
  const strike = openStriking(judged)
  const isHeader = hasHeader(columns)
  const outgoing = judged.map(({name, samples, personal}) => ({
    name: isHeader && !looksPersonal(name) ? cut(strike(name.slice(0, mostRead).normalize('NFC')), mostHeader) : shapeOf(name),
    samples: policy === 'deny' ? [] : personal ? shapesOf(filled(samples)) : valuesOf(samples, strike),
    personal,
  }))
  return {columns: outgoing, samples: sentOf(policy, outgoing)}
}

/** What a person wrote, or anything else that is no cell, as it may leave: personal values of these columns, and what looks personal, are taken out. */
export const openTextMask = (policy: AiSamplePolicy, columns: readonly Sampled[]): ((text: string) => string) => {
  const strike = openStriking(columns.map(column => ({...column, personal: isPersonal(policy, column)})))
  return text => strike(text.normalize('NFC')).split(STRUCK).map(shapePersonal).join(STRUCK)
}

const isPersonal = (policy: AiSamplePolicy, {name, samples, pii}: Sampled) =>
  pii ||
  samples.some(looksPersonal) ||
  (policy !== 'allow' && (isCalledPersonal(name) || looksLikeNames(name, samples) || samples.some(isProse)))

const isProse = (text: string) => text.length > mostCharacters || text.trim().split(/\s+/, mostWords + 1).length > mostWords

/** A file without a header has its first row for one. */
const hasHeader = (columns: readonly Sampled[]) =>
  columns.some(({name}) => isCalledPersonal(name)) || !columns.some(({name}) => looksPersonal(name))

const filled = (samples: readonly string[]) => samples.filter(text => text.trim() !== '').slice(0, mostSamples)

const valuesOf = (samples: readonly string[], strike: (text: string) => string) => [
  // Struck before it is cut, so that no half of a value is left.
  ...new Set(filled(samples).map(text => cut(strike(text.slice(0, mostRead).normalize('NFC')), mostCharacters))),
]

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

/** Of some of what `maskSamples` answered. */
export const sentOf = (policy: AiSamplePolicy, columns: readonly Outgoing[]): Sent => {
  const sent = columns.filter(({samples}) => samples.length > 0)
  if (sent.length === 0) return 'none'
  if (sent.every(({personal}) => personal)) return 'masked'
  return policy === 'allow' ? 'allow' : 'values'
}
