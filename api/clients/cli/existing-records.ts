import type {Json} from '../http.ts'
import {listMatchFields} from '../match-field.ts'
import {usage} from './failure.ts'
import {clean} from './phrases.ts'
import {askChoice, canAsk, type Option} from './questions.ts'
import type {Cli} from './session.ts'

/**
 * The options for existing records. `match` names fields, or is `none`. `existing`: what happens to a matched record. `yes` accepts the
 * recommendation.
 */
export type Existing = {match?: string; existing?: 'update' | 'skip'; yes?: boolean}
/** The match of a flow. Null: every row creates a record. Undefined: the default of the module. */
type Match = {by: string[]; onOne: 'update' | 'skip'; onMany: 'ask'} | null | undefined

type FindMatchInput = {module: Json; fields: readonly Json[]; mapped: readonly Json[]; existing: Existing}

/** Decides how rows find existing records: by the options, by the default of the module, or by asking. */
export const findMatch = async (cli: Cli, {module, fields, mapped, existing}: FindMatchInput): Promise<Match> => {
  const {match: named, existing: onOne = 'update', yes} = existing
  const written = fields.filter(({apiName}) => mapped.some(({field, mode}) => field === apiName && mode !== 'skip'))
  if (named === 'none') return null
  if (named !== undefined) return {by: readFields(named, fields, module).map(({apiName}) => apiName), onOne, onMany: 'ask'}
  if (module.match) return existing.existing === undefined ? undefined : {...module.match, onOne}
  const best = recommendField(module, written)
  if (yes && best) return {by: [best.apiName], onOne, onMany: 'ask'}
  if (!canAsk(cli)) throw unstated(best)
  return askMatch(cli, module, {written, best})
}

/** Throws, before the upload, if the options cannot decide what happens to existing records and no question can be asked. */
export const assertStated = (cli: Cli, {module, fields, existing}: Omit<FindMatchInput, 'mapped'>) => {
  const {match, yes} = existing
  if (match !== undefined && match !== 'none') readFields(match, fields, module)
  if (match === undefined && !yes && !module.match && !canAsk(cli)) throw unstated(recommendField(module, fields))
}

const unstated = (best: Json | undefined) =>
  usage(
    'What should happen to existing records?',
    `Add --match ${best?.apiName ?? 'FIELD'} to update records with the same value, or --match none to create a record for every row`,
  )

const recommendField = ({apiName: module, uniqueFields}: Json, fields: readonly Json[]): Json | undefined =>
  listMatchFields({module, uniqueFields}, fields as (Json & {apiName: string})[])[0]

const readFields = (named: string, fields: readonly Json[], {apiName: module}: Json): Json[] =>
  named.split(',').map(part => {
    const name = part.trim().toLowerCase()
    const field = fields.find(({apiName, label}) => apiName.toLowerCase() === name || label?.toLowerCase() === name)
    if (field) return field
    throw usage(`${module} has no field ${part.trim()}`, 'Use the API name or the label of a field, or --match none')
  })

type Candidates = {written: readonly Json[]; best: Json | undefined}

const askMatch = async (cli: Cli, module: Json, {written, best}: Candidates): Promise<Match> => {
  const others = written.filter(field => field !== best && matchable.has(field.type))
  const fields = [...(best ? [best] : []), ...others].slice(0, mostOffered)
  const update = ({apiName, label}: Json): Option<Match> => ({
    value: {by: [apiName], onOne: 'update', onMany: 'ask'},
    label: `Update records with the same ${clean(label)}${apiName === best?.apiName ? ' (recommended)' : ''}`,
  })
  const skip = ({apiName, label}: Json): Option<Match> => ({
    value: {by: [apiName], onOne: 'skip', onMany: 'ask'},
    label: `Add only new records: skip rows with a known ${clean(label)}`,
  })
  const always: Option<Match> = {value: null, label: 'Create a record for every row'}
  const options = [...fields.slice(0, 1).flatMap(field => [update(field), skip(field)]), ...fields.slice(1).map(update), always]
  return askChoice(cli, `What should happen to existing records in ${clean(module.label ?? module.apiName)}?`, options, best !== undefined)
}

const mostOffered = 4
const matchable = new Set(['text', 'email', 'phone', 'website', 'integer', 'bigint', 'autonumber'])
