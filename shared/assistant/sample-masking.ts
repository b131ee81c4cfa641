import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {findSettings, listCuratedModules} from '../../sql/registry.ts'
import {mapYielding} from '../concurrency/map-yielding.ts'
import {AI_SAMPLE_POLICIES, type AiSamplePolicy, usualSettings} from '../configuration/settings.ts'
import {isCalledPersonal, looksLikeNames, looksPersonal, shapePersonal} from './personal.ts'
import {openRedaction, REDACTED} from './redact.ts'
import {shapeOf, shapesOf} from './shape.ts'

/** A column with sample values. `pii`: the column is annotated as personal, or is or may be mapped to a personal field. */
export type SampledColumn = {name: string; samples: readonly string[]; pii: boolean}

/** The part of a column that is sent. `personal`: only shapes are sent. */
export type MaskedColumn = {name: string; samples: string[]; personal: boolean}

/**
 * The most revealing level of data that was sent from a file. `allow` and `values`: values, under the policy `allow` or `masked`. `masked`: only
 * shapes. `none`: nothing.
 */
export type SentSamples = 'allow' | 'values' | 'masked' | 'none'

const Policy = z.enum(AI_SAMPLE_POLICIES)
/** Parses the parts of annotations that decide what may be sent. */
const Readable = z.array(z.looseObject({apiName: z.string(), pii: z.boolean().optional()}))

/** Reads the org's sample policy. If the policy or the org's privacy annotations cannot be read, returns `deny`. */
export const readSamplePolicy = async (db: Db, org: string): Promise<AiSamplePolicy> => {
  const policy = Policy.safeParse(((await findSettings(db, org)) ?? usualSettings).aiSamplePolicy)
  const modules = await listCuratedModules(db, org)
  const isReadable = modules.every(({annotations}) => Readable.safeParse(annotations).success)
  return policy.success && isReadable ? policy.data : 'deny'
}

const mostSamples = 20
/** Maximum number of characters per value. */
const mostCharacters = 60
const mostHeader = 100
/** Number of characters of a long text that are examined before the text is cut. */
const mostRead = 400
/** A value of more words is prose, which may be about a person. */
const mostWords = 6

/**
 * Returns the parts of columns that may be sent to a model, an MCP client or a log. A column is personal if it is marked (`pii`) or one of its values
 * looks personal. Unless the policy is `allow`, a name or values that suggest people or prose also make it personal. A personal column is sent as
 * shapes. Another column is sent as distinct, shortened values without the values of personal columns. `deny` sends names only. Every policy redacts
 * the names, and replaces names that look personal by shapes. If the file seems to have no header, every policy replaces all names by shapes.
 */
export const maskSamples = async (
  policy: AiSamplePolicy,
  columns: readonly SampledColumn[],
): Promise<{columns: MaskedColumn[]; samples: SentSamples}> => {
  const judged = await mapYielding(columns, column => ({...column, personal: isPersonal(policy, column)}))
  const strike = await openRedaction(judged)
  const isHeader = await hasHeader(columns)
  const outgoing = await mapYielding(judged, ({name, samples, personal}) => ({
    name: isHeader && !looksPersonal(name) ? cut(strike(name.slice(0, mostRead).normalize('NFC')), mostHeader) : shapeOf(name),
    samples: policy === 'deny' ? [] : personal ? shapesOf(filled(samples)) : valuesOf(samples, strike),
    personal,
  }))
  return {columns: outgoing, samples: sentOf(policy, outgoing)}
}

/**
 * Returns a function for other texts, such as questions. The function redacts the values of personal columns, and replaces other parts that look
 * personal by their shapes.
 */
export const openTextMask = async (policy: AiSamplePolicy, columns: readonly SampledColumn[]): Promise<(text: string) => string> => {
  const strike = await openRedaction(await mapYielding(columns, column => ({...column, personal: isPersonal(policy, column)})))
  return text => strike(text.normalize('NFC')).split(REDACTED).map(shapePersonal).join(REDACTED)
}

const isPersonal = (policy: AiSamplePolicy, {name, samples, pii}: SampledColumn) =>
  pii ||
  samples.some(looksPersonal) ||
  (policy !== 'allow' && (isCalledPersonal(name) || looksLikeNames(name, samples) || samples.some(isProse)))

const isProse = (text: string) => text.length > mostCharacters || text.trim().split(/\s+/, mostWords + 1).length > mostWords

/** Guesses whether the file has a header. Without a header, the column names are cells of the first row. */
const hasHeader = async (columns: readonly SampledColumn[]): Promise<boolean> => {
  const seen = await mapYielding(columns, ({name}) => ({called: isCalledPersonal(name), looks: looksPersonal(name)}))
  return seen.some(({called}) => called) || !seen.some(({looks}) => looks)
}

const filled = (samples: readonly string[]) => samples.filter(text => text.trim() !== '').slice(0, mostSamples)

const valuesOf = (samples: readonly string[], strike: (text: string) => string) => [
  // Values are redacted before they are cut, so that no half of a value remains.
  ...new Set(filled(samples).map(text => cut(strike(text.slice(0, mostRead).normalize('NFC')), mostCharacters))),
]

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

/** Returns the level of data that a selection of the columns of `maskSamples` reveals. */
export const sentOf = (policy: AiSamplePolicy, columns: readonly MaskedColumn[]): SentSamples => {
  const sent = columns.filter(({samples}) => samples.length > 0)
  if (sent.length === 0) return 'none'
  if (sent.every(({personal}) => personal)) return 'masked'
  return policy === 'allow' ? 'allow' : 'values'
}
