import {z} from 'zod'
import type {Pool} from '../../../sql/database.ts'
import {type Import, readTemplateFlows, setFlows} from '../../../sql/imports.ts'
import {Refusal} from '../../errors.ts'
import {lockOpenImport} from '../../files/sources/find.ts'
import {findFlowData} from '../../runs/start.ts'
import {type Flow, Flows, findIssues, type Issue, type Mapping} from '../flows/flow.ts'
import {readingIssues, refuseUnfit} from './apply.ts'
import {type ImportSlot, slotsOf} from './slots.ts'

const ofFields = z.record(z.string().max(100), z.string().max(1000).nullable()).describe('By field: the column, or null')

export const Columns = z
  .record(z.string().max(64), ofFields)
  .refine(flows => Object.keys(flows).length <= 50, 'At most 50 flows')
  .describe(
    'By flow and field: the column of the file that the field takes. Null: the field is not written. Others take the column of the template',
  )
type Columns = z.output<typeof Columns>

type SetColumnsInput = {org: string; importId: string; columns: Columns}

/**
 * Chooses columns for the fields of a template's flows, for a file with other column names. All other parts of the flows are reset to the template,
 * except which file each flow reads.
 */
export const setColumns = (db: Pool, {org, importId, columns}: SetColumnsInput): Promise<Import> =>
  db.transaction(async tx => {
    const found = await lockOpenImport(tx, {org, importId})
    if (found.templateId === null)
      throw new Refusal('INVALID', 'This import was not made from a template. Set its flows instead', {
        issues: [{code: 'custom', path: [], message: 'Not an import of a template'}],
      })
    const [now, slots] = [Flows.parse(found.flows), slotsOf(found)]
    const base = Flows.parse((await readTemplateFlows(tx, found.no)) ?? found.flows)
    const issues = listUnknown(base, columns)
    if (issues.length > 0) throw refuseUnfit(issues)
    const flows = base.map(flow => ({...withColumns(flow, columns[flow.id] ?? {}), sourceId: sourceOf(now, slots, flow)}))
    // A flow that a user pointed at another file does not read the file of its slot.
    const bound = slots.filter(({sourceId, flows: own}) => flows.some(flow => own.includes(flow.id) && flow.sourceId === sourceId))
    const known = await findFlowData(tx, {org, importNo: found.no, connector: found.connectorId})
    const unfit = [...readingIssues(bound), ...findIssues(flows, known)]
    if (unfit.length > 0) throw refuseUnfit(unfit)
    return setFlows(tx, {no: found.no, flows, state: 'ready'})
  })

/** Returns the file that the flow reads now. A flow that is no longer among those of the import reads the file of its slot. */
const sourceOf = (now: Flow[], slots: ImportSlot[], {id, sourceId}: Flow) =>
  now.find(flow => flow.id === id)?.sourceId ?? slots.find(({slot}) => slot === sourceId)?.sourceId ?? sourceId

const takesColumn = ({mode, source}: Mapping) => (mode === 'column' || mode === 'search') && source != null

const withColumns = (flow: Flow, columns: Record<string, string | null>): Flow => ({
  ...flow,
  fields: flow.fields.map(mapping => {
    const column = takesColumn(mapping) ? columns[mapping.field] : undefined
    if (column === undefined) return mapping
    return column === null ? {field: mapping.field, mode: 'skip' as const, empty: mapping.empty} : {...mapping, source: column}
  }),
})

/** Lists the unknown flows, the fields that cannot take a column, and the match fields that the request leaves without a column. */
const listUnknown = (base: Flow[], columns: Columns): Issue[] =>
  Object.entries(columns).flatMap(([id, fields]) => {
    const flow = base.find(one => one.id === id)
    if (!flow) return [{path: [id], message: `The template has no flow ${id}`}]
    return Object.entries(fields).flatMap(([field, column]) => {
      const path = [id, field]
      if (!flow.fields.some(mapping => mapping.field === field && takesColumn(mapping)))
        return [{path, message: `The template takes ${field} from no column`}]
      return column === null && flow.match?.by.includes(field)
        ? [{path, message: `${field} finds existing records. Choose its column`}]
        : []
    })
  })
