import {mapColumn, usualMappings} from '../column-mapping.ts'
import type {Json} from '../http.ts'
import {sampleOf} from '../sample.ts'
import {type Existing, findMatch} from './existing-records.ts'
import {usage} from './failure.ts'
import {clean, plural} from './phrases.ts'
import type {Cli, Session} from './session.ts'

type ProposeFlowInput = {importId: string; connectorId: string; source: Json; module: Json; existing: Existing}

/** A flow made of proposals. `fields` are the fields of its module. */
export type ProposedFlow = {flow: Json; fields: Json[]}

/** The minimum confidence of a proposal that is used. The widget also uses less confident proposals. */
const leastConfidence = 0.8
const sampleRows = 50

export const proposeFlow = async (cli: Cli, session: Session, input: ProposeFlowInput): Promise<ProposedFlow> => {
  const {connectorId, source, module, existing} = input
  const {client, path} = session
  const {columns, rows} = await client.get(path(`imports/${input.importId}/sources/${source.id}/rows`), {limit: sampleRows})
  const at = path(`config/fields/${encodeURIComponent(module.apiName)}`)
  const known = await client.get(at, {connector: connectorId})
  const fields = known.fields.filter(({removed}: Json) => !removed) as Json[]
  const {proposals} = await client.post('/ai/auto-map', {connectorId, modules: [module.apiName], ...sampleOf(columns, rows)})
  const mapped = mapFields(known, {fields, columns, proposals})
  assertUsable({source, module, fields, mapped})
  const match = await findMatch(cli, {module, fields, mapped, existing})
  cli.out.note(describeMapping({source, module, fields, columns, mapped, proposals, match}).join('\n'))
  const id = module.apiName.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '_')
  return {flow: {id: id.slice(0, 64), module: module.apiName, ...(match !== undefined && {match}), fields: mapped}, fields}
}

/**
 * Returns the org's default mappings, which may skip fields. Adds each proposal of at least `leastConfidence` whose column and field are
 * still unmapped.
 */
const mapFields = ({module}: Json, {fields, columns, proposals}: Pick<DescribeInput, 'fields' | 'columns' | 'proposals'>): Json[] => {
  const mapped: Json[] = usualMappings(fields as Parameters<typeof usualMappings>[0], columns, module.seedMappings)
  for (const {column, field: name, confidence} of proposals) {
    const field = fields.find(({apiName}) => apiName === name)
    const isFree = !mapped.some(one => one.field === name || one.source === column)
    if (field && isFree && confidence >= leastConfidence) mapped.push(mapColumn(field as Parameters<typeof mapColumn>[0], column))
  }
  return mapped
}

const assertUsable = ({source, module, fields, mapped}: {source: Json; module: Json; fields: Json[]; mapped: Json[]}) => {
  const how = `Write the mapping to a file with \`lading map FILE --module ${module.apiName}\`, complete it, then import with --flow`
  if (mapped.every(({mode}) => mode === 'skip')) throw usage(`No column of ${clean(source.name)} fits a field of ${module.apiName}`, how)
  const names = new Set(mapped.filter(({mode}) => mode !== 'skip').map(({field}) => field))
  const missing = fields.filter(
    ({required, creatable, readOnly, excluded, apiName}) => required && creatable && !readOnly && !excluded && !names.has(apiName),
  )
  if (missing.length > 0)
    throw usage(`No column fits the required ${missing.map(({label}) => clean(label)).join(', ')} of ${module.apiName}`, how)
}

type DescribeInput = {
  source: Json
  module: Json
  fields: Json[]
  columns: string[]
  mapped: Json[]
  proposals: Json[]
  match: Json
}

const describeMapping = ({source, module, fields, columns, mapped, proposals, match}: DescribeInput): string[] => {
  const labelOf = (name: string) => clean(fields.find(({apiName}) => apiName === name)?.label ?? name)
  const lines = mapped.map(({field, source: column, mode}) => {
    const sure = proposals.find(one => one.column === column && one.field === field)?.confidence
    return [column ? clean(column) : mode, `${labelOf(field)}${sure === undefined ? '' : `  ${Math.round(sure * 100)} %`}`] as const
  })
  const widest = Math.max(...lines.map(([column]) => column.length))
  const left = columns.filter(column => !mapped.some(one => one.source === column))
  const by = match === undefined ? module.match?.by : match?.by
  const isSkipped = (match ?? module.match)?.onOne === 'skip'
  return [
    `${clean(source.name)} into ${clean(module.label ?? module.apiName)}, ${plural(source.rows, 'row')}:`,
    ...lines.map(([column, field]) => `  ${column.padEnd(widest)}  ${field}`),
    ...(left.length > 0 ? [`Not imported: ${left.map(clean).join(', ')}`] : []),
    by
      ? `Existing records with the same ${by.map(labelOf).join(' and ')} are ${isSkipped ? 'left as they are' : 'updated'}`
      : 'Every row creates a record',
  ]
}
